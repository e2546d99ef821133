-- The sources that follow rules created, one for each company on which an application is installed. They outlive their
-- installations and, in the state `erased`, everything that was stored of them. No secret and no personal data.
CREATE TABLE followed_sources (
  source          text COLLATE "C" PRIMARY KEY,
  rule            text COLLATE "C" NOT NULL,
  realm           text COLLATE "C" NOT NULL CHECK (realm IN ('live', 'test', 'unknown')),
  target_type     text COLLATE "C" NOT NULL,
  target          text COLLATE "C" NOT NULL,
  installation    text COLLATE "C" NOT NULL,
  state           text COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'connected', 'disconnected', 'erased')),
  reason          text COLLATE "C" CHECK (reason IN ('revoked', 'gone', 'excepted', 'rule_removed', 'forgotten')),
  -- Separated by spaces.
  scopes          text COLLATE "C",
  mints           integer NOT NULL,
  last_mint_at    text COLLATE "C",
  first_seen_at   text COLLATE "C" NOT NULL,
  connected_at    text COLLATE "C",
  disconnected_at text COLLATE "C",
  erase_after     text COLLATE "C",
  erased_at       text COLLATE "C",
  erased_rows     bigint,
  UNIQUE (rule, realm, target)
);

-- Grows with every write to them, so that other processes notice one.
CREATE TABLE followed_revision (
  one      integer PRIMARY KEY CHECK (one = 1),
  revision bigint NOT NULL
);

-- Set while a source is erased. Its rows are deleted in slices, and no view shows what is left of them.
ALTER TABLE sources ADD COLUMN erasing_since text COLLATE "C";

CREATE OR REPLACE VIEW awaiting_deletion AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.currency, r.committed_cents,
       r.raised_cents, r.applied_at, a.missing_since, a.generation,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM awaiting_deletion_rows a
JOIN investment_rows r ON r.row_no = a.row_no
JOIN sources s ON s.no = r.source_no
WHERE s.erasing_since IS NULL;

CREATE OR REPLACE VIEW sync_status AS
SELECT s.name AS source, s.state,
       CASE
         WHEN s.erasing_since IS NOT NULL THEN 'being erased: nothing is shown'
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
       coalesce(s.identity_included = 1 AND s.names_from_generation IS NOT NULL, false)::int::smallint AS names_incomplete,
       (SELECT CASE WHEN count(*) = count(c.listed_at) THEN min(c.listed_at) END
        FROM collection_rows c WHERE c.source_no = s.no) AS collections_listed_at,
       (SELECT string_agg(c.collection || ': ' || c.problem, '; ' ORDER BY c.collection)
        FROM collection_rows c WHERE c.source_no = s.no AND c.problem IS NOT NULL) AS collections_problem
FROM sources s LEFT JOIN listings l ON l.source_no = s.no;

CREATE OR REPLACE VIEW ticks AS
SELECT t.tick, s.name AS source, t.trigger, t.mode, t.started_at, t.took_ms, t.pages, t.added, t.changed, t.removed,
       t.quarantined, t.outcome, t.code, t.message
FROM tick_rows t JOIN sources s ON s.no = t.source_no
WHERE s.erasing_since IS NULL;

CREATE OR REPLACE VIEW notices AS
SELECT n.notice, s.name AS source, n.seq, n.target, n.body, n.queued_at, n.state, n.attempts, n.next_at,
       n.delivered_at, n.last_error
FROM notice_rows n JOIN sources s ON s.no = n.source_no
WHERE s.erasing_since IS NULL;

CREATE OR REPLACE VIEW quarantine AS
SELECT q.quarantine_no, s.name AS source, q.id, q.problem, q.body, q.seen_at, q.resolved_at, q.times
FROM quarantine_rows q JOIN sources s ON s.no = q.source_no
WHERE s.erasing_since IS NULL;
