-- What analysts query, the same as in SQLite. Column names are a contract: schema/dictionary.md describes each.
--
-- Amounts are added as whole cents; nothing here divides or rounds. Every total has one row per currency,
-- because cents of two currencies must never meet in one sum.

CREATE VIEW investments AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason, r.extra,
       coalesce(r.valid_from, s.listed_at) AS valid_from, coalesce(r.change_seq, s.listed_seq) AS change_seq
FROM investment_rows r JOIN sources s ON s.no = r.source_no
WHERE s.listed_at IS NOT NULL;

CREATE VIEW identities AS
SELECT s.name AS source, r.id, i.name, i.legal_name, i.email, i.address_line, i.city, i.state, i.postal_code,
       i.country, i.bio, i.message, i.external_username, i.email_hidden, i.extra
FROM identity_rows i JOIN investment_rows r ON r.row_no = i.row_no JOIN sources s ON s.no = r.source_no
WHERE s.listed_at IS NOT NULL;

-- Investments with the person beside them, empty where we may not know who it is. Unknown fields that spoke
-- of the person are identity_extra here, since an investment has an extra of its own.
CREATE VIEW roster AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason, r.extra,
       coalesce(r.valid_from, s.listed_at) AS valid_from, coalesce(r.change_seq, s.listed_seq) AS change_seq,
       i.name, i.legal_name, i.email, i.address_line, i.city, i.state, i.postal_code, i.country, i.bio,
       i.message, i.external_username, i.email_hidden, i.extra AS identity_extra
FROM investment_rows r
JOIN sources s ON s.no = r.source_no
LEFT JOIN identity_rows i ON i.row_no = r.row_no
WHERE s.listed_at IS NOT NULL;

CREATE VIEW investment_history AS
SELECT s.name AS source, h.id, h.company_id, h.offering_id, h.investor_id, h.status, h.group_label,
       h.investment_type, h.offering_type, h.applied_at, h.currency, h.committed_cents,
       h.investment_size_cents, h.in_escrow_cents, h.raised_cents, h.shares, h.average_share_price,
       h.needs_whitelisting, h.visible, h.converted_to, h.converted_from, h.investor_deactivated,
       h.via_entity, h.blockers, h.contracts, h.observed_at, h.reason, h.extra,
       h.valid_from, h.change_seq, h.valid_to, h.ended_by
FROM history_rows h JOIN sources s ON s.no = h.source_no;

-- A listing under way, as far as it has come: the rows of a first listing, and of a re-listing the rows that
-- differ from what is held plus the held ones its pages named without a difference.
CREATE VIEW incoming AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason, r.extra
FROM sources s JOIN (
  -- Ids are not unique before they are indexed; of two entries for one the later counts, as it will when published.
  SELECT DISTINCT ON (n.source_no, n.id) n.* FROM investment_rows n JOIN sources u ON u.no = n.source_no
  WHERE u.listed_at IS NULL ORDER BY n.source_no, n.id, n.row_no DESC
) r ON r.source_no = s.no
UNION ALL
SELECT s.name, t.id, t.company_id, t.offering_id, t.investor_id, t.status, t.group_label,
       t.investment_type, t.offering_type, t.applied_at, t.currency, t.committed_cents,
       t.investment_size_cents, t.in_escrow_cents, t.raised_cents, t.shares, t.average_share_price,
       t.needs_whitelisting, t.visible, t.converted_to, t.converted_from, t.investor_deactivated,
       t.via_entity, t.blockers, t.contracts, t.observed_at, t.reason, t.extra
FROM sources s JOIN staged_rows t ON t.source_no = s.no
UNION ALL
SELECT s.name, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason, r.extra
FROM sources s JOIN investment_rows r ON r.source_no = s.no
WHERE s.listed_at IS NOT NULL
  AND r.row_no IN (SELECT unnest(p.seen) FROM staged_pages p)
  AND NOT EXISTS (SELECT 1 FROM staged_rows t WHERE t.source_no = r.source_no AND t.id = r.id);

-- The sum of 64-bit integers is of arbitrary precision in PostgreSQL; here it is one again, as its parts are.
CREATE VIEW round_totals AS
SELECT s.name AS source, r.company_id, r.offering_id, r.status, r.currency,
       count(*) AS investments,
       coalesce(sum(r.committed_cents), 0)::bigint AS committed_cents,
       coalesce(sum(r.in_escrow_cents), 0)::bigint AS in_escrow_cents,
       coalesce(sum(r.raised_cents), 0)::bigint AS raised_cents
FROM sources s JOIN investment_rows r ON r.source_no = s.no
WHERE s.listed_at IS NOT NULL
GROUP BY s.name, r.offering_id, r.status, r.currency, r.company_id;

CREATE VIEW daily_raised AS
SELECT s.name AS source, r.company_id, substr(r.applied_at, 1, 10) AS day, r.currency,
       count(*) AS investments,
       coalesce(sum(r.committed_cents), 0)::bigint AS committed_cents,
       coalesce(sum(r.raised_cents), 0)::bigint AS raised_cents
FROM sources s JOIN investment_rows r ON r.source_no = s.no
WHERE s.listed_at IS NOT NULL
GROUP BY s.name, r.company_id, substr(r.applied_at, 1, 10), r.currency;

CREATE VIEW investor_totals AS
SELECT s.name AS source, r.investor_id, r.currency,
       count(*) AS investments,
       coalesce(sum(r.committed_cents), 0)::bigint AS committed_cents,
       coalesce(sum(r.raised_cents), 0)::bigint AS raised_cents,
       min(r.applied_at) AS first_applied_at,
       max(r.applied_at) AS last_applied_at
FROM investment_rows r JOIN sources s ON s.no = r.source_no
WHERE s.listed_at IS NOT NULL AND r.investor_id IS NOT NULL
GROUP BY r.investor_id, s.no, r.currency;

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
       (s.listed_at IS NOT NULL)::int::smallint AS readable,
       s.published_through AS complete_up_to,
       s.rows_held AS rows, s.rows_incoming, s.pages_incoming,
       l.started_at AS listing_started_at, l.would_remove AS deletions_waiting,
       s.identity_included, s.quarantined, s.cursor_saved_at,
       to_char((s.cursor_saved_at::timestamptz AT TIME ZONE 'UTC') + interval '90 days',
               'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') COLLATE "C" AS cursor_expires_at,
       s.last_tick_at, s.last_success_at, s.last_committed_at, s.last_outcome,
       s.last_error_code, s.last_error, s.last_error_at, s.retry_at,
       coalesce(s.history_from, s.listed_at) AS history_from
FROM sources s LEFT JOIN listings l ON l.source_no = s.no;

CREATE VIEW changes AS
SELECT c.seq, s.name AS source, c.id, c.kind, c.fields, c.reason, c.at
FROM change_rows c JOIN sources s ON s.no = c.source_no;

CREATE VIEW quarantine AS
SELECT q.quarantine_no, s.name AS source, q.id, q.problem, q.body, q.seen_at, q.resolved_at
FROM quarantine_rows q JOIN sources s ON s.no = q.source_no;

CREATE VIEW drift AS
SELECT s.name AS source, d.field, d.times, d.first_seen, d.last_seen
FROM drift_rows d JOIN sources s ON s.no = d.source_no;

CREATE VIEW ticks AS
SELECT t.tick, s.name AS source, t.trigger, t.mode, t.started_at, t.took_ms, t.pages, t.added, t.changed, t.removed,
       t.quarantined, t.outcome, t.code, t.message
FROM tick_rows t JOIN sources s ON s.no = t.source_no;

CREATE VIEW notices AS
SELECT n.notice, s.name AS source, n.seq, n.target, n.body, n.queued_at, n.state, n.attempts, n.next_at,
       n.delivered_at, n.last_error
FROM notice_rows n JOIN sources s ON s.no = n.source_no;
