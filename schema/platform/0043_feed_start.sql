-- Positions before this one are of the feed before the last reset of the sandbox, which had other records.
ALTER TABLE feed ADD COLUMN start INTEGER NOT NULL DEFAULT 0;
