-- An entry without an id is known by a digest of its content, so that a listing and the sweep behind it set it aside
-- once. It stands beside the body and goes with it: whoever can guess a record could tell it by its digest.
ALTER TABLE :"identity".quarantine_rows
  ADD COLUMN digest text COLLATE "C",
  -- How many entries a row stands for: one, but for the row that counts what a full quarantine did not keep.
  ADD COLUMN times bigint NOT NULL DEFAULT 1;

ALTER TABLE :"identity".quarantine_rows ALTER digest SET STATISTICS 0;

CREATE INDEX quarantine_rows_digest ON :"identity".quarantine_rows (source_no, digest) WHERE digest IS NOT NULL;

CREATE FUNCTION forget_digest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  new.digest := NULL;
  RETURN new;
END
$$;

CREATE TRIGGER quarantine_digest_gone BEFORE UPDATE OF body ON :"identity".quarantine_rows
FOR EACH ROW WHEN (new.body IS NULL AND new.digest IS NOT NULL) EXECUTE FUNCTION forget_digest();

CREATE OR REPLACE VIEW quarantine_rows AS SELECT * FROM :"identity".quarantine_rows;

CREATE OR REPLACE VIEW quarantine AS
SELECT q.quarantine_no, s.name AS source, q.id, q.problem, q.body, q.seen_at, q.resolved_at, q.times
FROM quarantine_rows q JOIN sources s ON s.no = q.source_no;

-- Entries set aside before there were digests: found by their bodies, without a look at all the others.
CREATE INDEX quarantine_rows_undigested ON :"identity".quarantine_rows (source_no)
  WHERE id IS NULL AND digest IS NULL AND resolved_at IS NULL;
