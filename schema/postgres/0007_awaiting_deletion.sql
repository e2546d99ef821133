-- Rows that the last complete listing did not name, while the brake holds their deletion: they stay visible until a
-- person accepts, a later listing decides, or the platform names them again. `missing_since` is the commit of the first
-- listing that did not name the row, `generation` the last one.
CREATE TABLE awaiting_deletion_rows (
  row_no        bigint PRIMARY KEY,
  source_no     integer NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  generation    integer NOT NULL,
  missing_since text COLLATE "C" NOT NULL
);

-- How many of them there are, so that a page of a source without any pays nothing for them.
ALTER TABLE sources ADD COLUMN awaiting_deletion bigint NOT NULL DEFAULT 0;
-- The first listing that can make names complete again, after a page or a look showed that they were left out. Null
-- when every record that may have a name here has it.
ALTER TABLE sources ADD COLUMN names_from_generation integer;

-- A source that stopped at its brake has its complete listing still: it is published by its next tick.
UPDATE sources SET state = 'relisting' WHERE state = 'held';
UPDATE sources SET halted_from = 'relisting' WHERE halted_from = 'held';

-- Names that an earlier version left out, after the grant came back, are listed again.
UPDATE sources SET names_from_generation = generation + 1
WHERE listed_at IS NOT NULL AND EXISTS (
  SELECT 1 FROM investment_rows r
  WHERE r.source_no = sources.no AND r.investor_deactivated = 0
    AND NOT EXISTS (SELECT 1 FROM :"identity".identity_rows i WHERE i.row_no = r.row_no)
    AND r.id NOT IN (SELECT id FROM forgotten)
    AND (r.investor_id IS NULL OR r.investor_id NOT IN (SELECT id FROM forgotten)));

CREATE VIEW awaiting_deletion AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.currency, r.committed_cents,
       r.raised_cents, r.applied_at, a.missing_since, a.generation
FROM awaiting_deletion_rows a
JOIN investment_rows r ON r.row_no = a.row_no
JOIN sources s ON s.no = r.source_no;

DROP VIEW sync_status;
-- Where each source stands, for people. Times only, no ages: an age is stale as soon as it is read.
CREATE VIEW sync_status AS
SELECT s.name AS source, s.state,
       CASE
         WHEN s.state = 'halted' THEN 'stopped: a person has to help, see last_error'
         WHEN s.state = 'empty' THEN 'not started'
         WHEN s.state = 'listing' THEN 'first listing under way: nothing is shown yet'
         WHEN s.state IN ('relisting', 'held') THEN 'listing everything again: what is shown is from before'
         WHEN s.last_outcome = 'failed' THEN 'behind: the last attempt failed'
         WHEN s.state = 'sweeping' THEN 'catching up with changes made during the listing'
         WHEN s.awaiting_deletion > 0
           THEN 'following the feed; rows the last listing did not name wait for a person to accept their deletion'
         ELSE 'following the feed'
       END AS meaning,
       (s.listed_at IS NOT NULL)::int::smallint AS readable,
       s.published_through AS complete_up_to,
       s.rows_held AS rows, s.rows_incoming, s.pages_incoming,
       l.started_at AS listing_started_at, nullif(s.awaiting_deletion, 0) AS deletions_waiting,
       s.identity_included, s.quarantined, s.cursor_saved_at,
       to_char((s.cursor_saved_at::timestamptz AT TIME ZONE 'UTC') + interval '90 days',
               'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') COLLATE "C" AS cursor_expires_at,
       s.last_tick_at, s.last_success_at, s.last_committed_at, s.last_outcome,
       s.last_error_code, s.last_error, s.last_error_at, s.retry_at,
       coalesce(s.history_from, s.listed_at) AS history_from,
       s.awaiting_deletion,
       coalesce(s.identity_included = 1 AND s.names_from_generation IS NOT NULL, false)::int::smallint AS names_incomplete
FROM sources s LEFT JOIN listings l ON l.source_no = s.no;
