-- Indexes of investment_rows, built together before the very first listing is published. Ids arrive in random order,
-- so updating an index row by row would write one of its pages for each record. The statements can be repeated. The
-- first one makes an id unique within its source and fails while a listing contains an id twice. Its first column is
-- the id, because users look up an id without naming its source.
--
-- Each frequent query has an index: by status, newest first within a source and overall, by day, by round, by
-- investor. INCLUDE adds the columns that totals sum up, so that an index-only scan is enough. The index by day also
-- includes applied_at, from which the day is derived: without it the planner fetches every row.
-- The last two are partial: investments that wait, and investments in escrow.
-- The newest-first index has the order of roster pages: rows without a time come last, which PostgreSQL needs spelled
-- out.

CREATE UNIQUE INDEX IF NOT EXISTS investment_rows_id ON investment_rows (id, source_no);
CREATE INDEX IF NOT EXISTS investment_rows_status ON investment_rows (status, source_no)
  INCLUDE (raised_cents, committed_cents);
CREATE INDEX IF NOT EXISTS investment_rows_applied ON investment_rows (source_no, applied_at) INCLUDE (raised_cents);
CREATE INDEX IF NOT EXISTS investment_rows_newest ON investment_rows (applied_at DESC NULLS LAST);
CREATE INDEX IF NOT EXISTS investment_rows_day ON investment_rows
  (source_no, company_id, substr(applied_at, 1, 10), currency) INCLUDE (raised_cents, committed_cents, applied_at);
CREATE INDEX IF NOT EXISTS investment_rows_round ON investment_rows
  (source_no, offering_id, status, currency, company_id) INCLUDE (raised_cents, committed_cents, in_escrow_cents);
CREATE INDEX IF NOT EXISTS investment_rows_investor ON investment_rows
  (investor_id, currency, source_no) INCLUDE (raised_cents, committed_cents, applied_at);
CREATE INDEX IF NOT EXISTS investment_rows_waiting ON investment_rows (source_no, applied_at, id)
  WHERE status = 'active' AND blockers <> '[]';
CREATE INDEX IF NOT EXISTS investment_rows_escrow ON investment_rows
  (source_no, currency, applied_at) INCLUDE (in_escrow_cents) WHERE in_escrow_cents > 0;
