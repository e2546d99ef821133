-- The sources that follow rules created, one for each company on which an application is installed. They outlive their
-- installations and, in the state `erased`, everything that was stored of them. No secret and no personal data.
CREATE TABLE followed_sources (
  source          TEXT PRIMARY KEY,
  rule            TEXT NOT NULL,
  realm           TEXT NOT NULL CHECK (realm IN ('live', 'test', 'unknown')),
  target_type     TEXT NOT NULL,
  target          TEXT NOT NULL,
  installation    TEXT NOT NULL,
  state           TEXT NOT NULL CHECK (state IN ('waiting', 'connected', 'disconnected', 'erased')),
  reason          TEXT CHECK (reason IN ('revoked', 'gone', 'excepted', 'rule_removed', 'forgotten')),
  -- Separated by spaces.
  scopes          TEXT,
  mints           INTEGER NOT NULL,
  last_mint_at    TEXT,
  first_seen_at   TEXT NOT NULL,
  connected_at    TEXT,
  disconnected_at TEXT,
  erase_after     TEXT,
  erased_at       TEXT,
  erased_rows     INTEGER,
  UNIQUE (rule, realm, target)
) STRICT, WITHOUT ROWID;

-- Grows with every write to them, so that other processes notice one.
CREATE TABLE followed_revision (
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  revision INTEGER NOT NULL
) STRICT;

-- Set while a source is erased. Its rows are deleted in slices, and no view shows what is left of them.
ALTER TABLE sources ADD COLUMN erasing_since TEXT;

DROP VIEW investment_history;
CREATE VIEW investment_history AS
SELECT s.name AS source, h.id, h.company_id, h.offering_id, h.investor_id, h.status, h.group_label,
       h.investment_type, h.offering_type, h.applied_at, h.currency, h.committed_cents,
       h.investment_size_cents, h.in_escrow_cents, h.raised_cents, h.shares, h.average_share_price,
       h.needs_whitelisting, h.visible, h.converted_to, h.converted_from, h.investor_deactivated,
       h.via_entity, h.blockers, h.contracts, h.observed_at, h.reason, h.extra,
       h.valid_from, h.change_seq, h.valid_to, h.ended_by,
       (SELECT c.name FROM company_rows c WHERE c.source_no = h.source_no AND c.id = h.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = h.source_no AND o.id = h.offering_id) AS round_name
FROM history_rows h JOIN sources s ON s.no = h.source_no
WHERE s.erasing_since IS NULL;

DROP VIEW incoming;
CREATE VIEW incoming AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason, r.extra,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM sources s JOIN (
  -- Ids are not unique before they are indexed; of two entries for one the later counts, as it will when published.
  SELECT n.*, max(n.row_no) FROM investment_rows n JOIN sources u ON u.no = n.source_no
  WHERE u.listed_at IS NULL AND u.erasing_since IS NULL GROUP BY n.source_no, n.id
) r ON r.source_no = s.no
UNION ALL
SELECT s.name, t.id, t.company_id, t.offering_id, t.investor_id, t.status, t.group_label,
       t.investment_type, t.offering_type, t.applied_at, t.currency, t.committed_cents,
       t.investment_size_cents, t.in_escrow_cents, t.raised_cents, t.shares, t.average_share_price,
       t.needs_whitelisting, t.visible, t.converted_to, t.converted_from, t.investor_deactivated,
       t.via_entity, t.blockers, t.contracts, t.observed_at, t.reason, t.extra,
       (SELECT c.name FROM company_rows c WHERE c.source_no = t.source_no AND c.id = t.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = t.source_no AND o.id = t.offering_id) AS round_name
FROM sources s JOIN staged_rows t ON t.source_no = s.no
WHERE s.erasing_since IS NULL
UNION ALL
SELECT s.name, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason, r.extra,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM sources s JOIN investment_rows r ON r.source_no = s.no
WHERE s.listed_at IS NOT NULL
  AND r.row_no IN (SELECT seen.value FROM staged_pages p, json_each(p.seen) seen)
  AND NOT EXISTS (SELECT 1 FROM staged_rows t WHERE t.source_no = r.source_no AND t.id = r.id);

DROP VIEW awaiting_deletion;
CREATE VIEW awaiting_deletion AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.currency, r.committed_cents,
       r.raised_cents, r.applied_at, a.missing_since, a.generation,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM awaiting_deletion_rows a
JOIN investment_rows r ON r.row_no = a.row_no
JOIN sources s ON s.no = r.source_no
WHERE s.erasing_since IS NULL;

DROP VIEW sync_status;
CREATE VIEW sync_status AS
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
       s.listed_at IS NOT NULL AS readable,
       s.published_through AS complete_up_to,
       s.rows_held AS rows, s.rows_incoming, s.pages_incoming,
       l.started_at AS listing_started_at, nullif(s.awaiting_deletion, 0) AS deletions_waiting,
       s.identity_included, s.quarantined, s.cursor_saved_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.cursor_saved_at, '+90 days') AS cursor_expires_at,
       s.last_tick_at, s.last_success_at, s.last_committed_at, s.last_outcome,
       s.last_error_code, s.last_error, s.last_error_at, s.retry_at,
       coalesce(s.history_from, s.listed_at) AS history_from,
       s.awaiting_deletion,
       coalesce(s.identity_included = 1 AND s.names_from_generation IS NOT NULL, 0) AS names_incomplete,
       (SELECT CASE WHEN count(*) = count(c.listed_at) THEN min(c.listed_at) END
        FROM collection_rows c WHERE c.source_no = s.no) AS collections_listed_at,
       (SELECT group_concat(p.problem, '; ')
        FROM (SELECT c.collection || ': ' || c.problem AS problem FROM collection_rows c
              WHERE c.source_no = s.no AND c.problem IS NOT NULL ORDER BY c.collection) p) AS collections_problem
FROM sources s LEFT JOIN listings l ON l.source_no = s.no;

DROP VIEW changes;
CREATE VIEW changes AS
SELECT c.seq, s.name AS source, c.id, coalesce(c.about || '_', '') || c.kind AS kind, c.fields, c.reason, c.at,
  CASE WHEN c.about IS NOT NULL THEN c.old_values WHEN c.kind IN ('changed', 'removed') AND c.at > coalesce(s.history_from, '') THEN (
    SELECT '{' || substr(
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"company_id"') > 0 THEN ',"company_id":' || json_quote(v.company_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_id"') > 0 THEN ',"offering_id":' || json_quote(v.offering_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_id"') > 0 THEN ',"investor_id":' || json_quote(v.investor_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"status"') > 0 THEN ',"status":' || json_quote(v.status) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"group_label"') > 0 THEN ',"group_label":' || json_quote(v.group_label) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_type"') > 0 THEN ',"investment_type":' || json_quote(v.investment_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_type"') > 0 THEN ',"offering_type":' || json_quote(v.offering_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"applied_at"') > 0 THEN ',"applied_at":' || json_quote(v.applied_at) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"currency"') > 0 THEN ',"currency":' || json_quote(v.currency) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"committed_cents"') > 0 THEN ',"committed_cents":' || json_quote(v.committed_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_size_cents"') > 0 THEN ',"investment_size_cents":' || json_quote(v.investment_size_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"in_escrow_cents"') > 0 THEN ',"in_escrow_cents":' || json_quote(v.in_escrow_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"raised_cents"') > 0 THEN ',"raised_cents":' || json_quote(v.raised_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"shares"') > 0 THEN ',"shares":' || json_quote(v.shares) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"average_share_price"') > 0 THEN ',"average_share_price":' || json_quote(v.average_share_price) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"needs_whitelisting"') > 0 THEN ',"needs_whitelisting":' || json_quote(v.needs_whitelisting) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"visible"') > 0 THEN ',"visible":' || json_quote(v.visible) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_to"') > 0 THEN ',"converted_to":' || json_quote(v.converted_to) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_from"') > 0 THEN ',"converted_from":' || json_quote(v.converted_from) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_deactivated"') > 0 THEN ',"investor_deactivated":' || json_quote(v.investor_deactivated) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"via_entity"') > 0 THEN ',"via_entity":' || json_quote(v.via_entity) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"blockers"') > 0 THEN ',"blockers":' || v.blockers ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"contracts"') > 0 THEN ',"contracts":' || v.contracts ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"extra"') > 0 THEN ',"extra":' || coalesce(v.extra, 'null') ELSE '' END, 2) || '}'
    FROM history_rows v
    WHERE v.valid_to = c.at AND v.history_no = (
      SELECT h.history_no FROM history_rows h
      WHERE h.id = c.id AND h.source_no = c.source_no AND h.valid_from <= c.at AND h.change_seq < c.seq
      ORDER BY h.valid_from DESC, h.change_seq DESC, h.valid_to DESC LIMIT 1)
  ) END AS before,
  CASE WHEN c.about IS NOT NULL THEN c.new_values WHEN c.kind IN ('changed', 'added') THEN (
    SELECT '{' || substr(
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"company_id"') > 0 THEN ',"company_id":' || json_quote(v.company_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_id"') > 0 THEN ',"offering_id":' || json_quote(v.offering_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_id"') > 0 THEN ',"investor_id":' || json_quote(v.investor_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"status"') > 0 THEN ',"status":' || json_quote(v.status) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"group_label"') > 0 THEN ',"group_label":' || json_quote(v.group_label) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_type"') > 0 THEN ',"investment_type":' || json_quote(v.investment_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_type"') > 0 THEN ',"offering_type":' || json_quote(v.offering_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"applied_at"') > 0 THEN ',"applied_at":' || json_quote(v.applied_at) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"currency"') > 0 THEN ',"currency":' || json_quote(v.currency) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"committed_cents"') > 0 THEN ',"committed_cents":' || json_quote(v.committed_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_size_cents"') > 0 THEN ',"investment_size_cents":' || json_quote(v.investment_size_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"in_escrow_cents"') > 0 THEN ',"in_escrow_cents":' || json_quote(v.in_escrow_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"raised_cents"') > 0 THEN ',"raised_cents":' || json_quote(v.raised_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"shares"') > 0 THEN ',"shares":' || json_quote(v.shares) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"average_share_price"') > 0 THEN ',"average_share_price":' || json_quote(v.average_share_price) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"needs_whitelisting"') > 0 THEN ',"needs_whitelisting":' || json_quote(v.needs_whitelisting) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"visible"') > 0 THEN ',"visible":' || json_quote(v.visible) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_to"') > 0 THEN ',"converted_to":' || json_quote(v.converted_to) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_from"') > 0 THEN ',"converted_from":' || json_quote(v.converted_from) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_deactivated"') > 0 THEN ',"investor_deactivated":' || json_quote(v.investor_deactivated) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"via_entity"') > 0 THEN ',"via_entity":' || json_quote(v.via_entity) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"blockers"') > 0 THEN ',"blockers":' || v.blockers ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"contracts"') > 0 THEN ',"contracts":' || v.contracts ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"extra"') > 0 THEN ',"extra":' || coalesce(v.extra, 'null') ELSE '' END, 2) || '}'
    FROM (
      SELECT r.company_id, r.offering_id, r.investor_id, r.status, r.group_label, r.investment_type,
             r.offering_type, r.applied_at, r.currency, r.committed_cents, r.investment_size_cents,
             r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price, r.needs_whitelisting,
             r.visible, r.converted_to, r.converted_from, r.investor_deactivated, r.via_entity, r.blockers,
             r.contracts, r.extra
      FROM investment_rows r
      WHERE r.id = c.id AND r.source_no = c.source_no AND r.change_seq = c.seq
      UNION ALL
      SELECT h.company_id, h.offering_id, h.investor_id, h.status, h.group_label, h.investment_type,
             h.offering_type, h.applied_at, h.currency, h.committed_cents, h.investment_size_cents,
             h.in_escrow_cents, h.raised_cents, h.shares, h.average_share_price, h.needs_whitelisting,
             h.visible, h.converted_to, h.converted_from, h.investor_deactivated, h.via_entity, h.blockers,
             h.contracts, h.extra
      FROM history_rows h
      WHERE h.change_seq = c.seq AND h.history_no = (
        SELECT n.history_no FROM history_rows n
        WHERE n.id = c.id AND n.source_no = c.source_no AND n.valid_from >= c.at AND n.change_seq >= c.seq
        ORDER BY n.valid_from, n.change_seq LIMIT 1)
      LIMIT 1) v
  ) END AS after
FROM change_rows c JOIN sources s ON s.no = c.source_no
WHERE s.erasing_since IS NULL;

DROP VIEW ticks;
CREATE VIEW ticks AS
SELECT t.tick, s.name AS source, t.trigger, t.mode, t.started_at, t.took_ms, t.pages, t.added, t.changed, t.removed,
       t.quarantined, t.outcome, t.code, t.message
FROM tick_rows t JOIN sources s ON s.no = t.source_no
WHERE s.erasing_since IS NULL;

DROP VIEW notices;
CREATE VIEW notices AS
SELECT n.notice, s.name AS source, n.seq, n.target, n.body, n.queued_at, n.state, n.attempts, n.next_at,
       n.delivered_at, n.last_error
FROM notice_rows n JOIN sources s ON s.no = n.source_no
WHERE s.erasing_since IS NULL;

DROP VIEW quarantine;
CREATE VIEW quarantine AS
SELECT q.quarantine_no, s.name AS source, q.id, q.problem, q.body, q.seen_at, q.resolved_at, q.times
FROM quarantine_rows q JOIN sources s ON s.no = q.source_no
WHERE s.erasing_since IS NULL;
