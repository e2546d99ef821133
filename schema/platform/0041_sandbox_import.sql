-- The file that a sandbox imported, which a return to the seed reads again.
ALTER TABLE sandbox ADD COLUMN import_file TEXT;
