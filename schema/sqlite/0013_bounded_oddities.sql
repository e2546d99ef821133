-- An entry without an id is known by a digest of its content, so that a listing and the sweep behind it set it aside
-- once. It stands beside the body and goes with it: whoever can guess a record could tell it by its digest.
ALTER TABLE quarantine_rows ADD COLUMN digest TEXT;

-- How many entries a row stands for: one, but for the row that counts what a full quarantine did not keep.
ALTER TABLE quarantine_rows ADD COLUMN times INTEGER NOT NULL DEFAULT 1;

CREATE INDEX quarantine_rows_digest ON quarantine_rows (source_no, digest) WHERE digest IS NOT NULL;

CREATE TRIGGER quarantine_digest_gone AFTER UPDATE OF body ON quarantine_rows
WHEN new.body IS NULL AND new.digest IS NOT NULL
BEGIN
  UPDATE quarantine_rows SET digest = NULL WHERE quarantine_no = new.quarantine_no;
END;

DROP VIEW quarantine;
CREATE VIEW quarantine AS
SELECT q.quarantine_no, s.name AS source, q.id, q.problem, q.body, q.seen_at, q.resolved_at, q.times
FROM quarantine_rows q JOIN sources s ON s.no = q.source_no;

-- Entries set aside before there were digests: found by their bodies, without a look at all the others.
CREATE INDEX quarantine_rows_undigested ON quarantine_rows (source_no)
  WHERE id IS NULL AND digest IS NULL AND resolved_at IS NULL;
