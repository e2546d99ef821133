-- How far back as-of reaches, once old versions were purged (history.keepDays): null reaches to the first listing.
ALTER TABLE sources ADD COLUMN history_from TEXT;

-- The last notice about a record is found by way of its changes, to keep them a minute apart.
CREATE INDEX notice_rows_seq ON notice_rows (seq, target);

-- Purges look for what is older than a moment.
CREATE INDEX history_rows_ended ON history_rows (valid_to);
CREATE INDEX tick_rows_started ON tick_rows (started_at);

-- A page that is read again writes the same person or body once more: nothing was replaced, nothing is left behind.
DROP TRIGGER staged_rows_updated;
CREATE TRIGGER staged_rows_updated AFTER UPDATE ON staged_rows
WHEN old.identity IS NOT NULL AND old.identity IS NOT new.identity AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

DROP TRIGGER quarantine_rows_updated;
CREATE TRIGGER quarantine_rows_updated AFTER UPDATE OF body ON quarantine_rows
WHEN old.body IS NOT NULL AND old.body IS NOT new.body AND NOT EXISTS (SELECT 1 FROM identity_residue)
BEGIN
  INSERT INTO identity_residue (only) VALUES (1);
END;

DROP VIEW sync_status;
-- Where each source stands, for people. Times only, no ages: an age is stale as soon as it is read.
CREATE VIEW sync_status AS
SELECT s.name AS source, s.state,
       CASE
         WHEN s.state = 'halted' THEN 'stopped: a person has to help, see last_error'
         WHEN s.state = 'held' THEN 'waiting for a person to accept the deletions of a new listing'
         WHEN s.state = 'empty' THEN 'not started'
         WHEN s.state = 'listing' THEN 'first listing under way: nothing is shown yet'
         WHEN s.state = 'relisting' THEN 'listing everything again: what is shown is from before'
         WHEN s.last_outcome = 'failed' THEN 'behind: the last attempt failed'
         WHEN s.state = 'sweeping' THEN 'catching up with changes made during the listing'
         ELSE 'following the feed'
       END AS meaning,
       s.listed_at IS NOT NULL AS readable,
       s.published_through AS complete_up_to,
       s.rows_held AS rows, s.rows_incoming, s.pages_incoming,
       l.started_at AS listing_started_at, l.would_remove AS deletions_waiting,
       s.identity_included, s.quarantined, s.cursor_saved_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.cursor_saved_at, '+90 days') AS cursor_expires_at,
       s.last_tick_at, s.last_success_at, s.last_committed_at, s.last_outcome,
       s.last_error_code, s.last_error, s.last_error_at, s.retry_at,
       coalesce(s.history_from, s.listed_at) AS history_from
FROM sources s LEFT JOIN listings l ON l.source_no = s.no;
