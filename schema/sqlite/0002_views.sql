-- What analysts query. Column names are a contract: schema/dictionary.md describes each.

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

CREATE VIEW investment_history AS
SELECT s.name AS source, h.id, h.company_id, h.offering_id, h.investor_id, h.status, h.group_label,
       h.investment_type, h.offering_type, h.applied_at, h.currency, h.committed_cents,
       h.investment_size_cents, h.in_escrow_cents, h.raised_cents, h.shares, h.average_share_price,
       h.needs_whitelisting, h.visible, h.converted_to, h.converted_from, h.investor_deactivated,
       h.via_entity, h.blockers, h.contracts, h.observed_at, h.reason, h.extra,
       h.valid_from, h.change_seq, h.valid_to, h.ended_by
FROM history_rows h JOIN sources s ON s.no = h.source_no;

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
