-- Indexes for analysts. Maintaining them row by row makes a first listing three times slower, so they are
-- built in one go just before the first one is published. Each statement can be repeated.

--
-- One for each question that is asked again and again, each with all that its totals need, so that no row is
-- fetched: by status, newest first within a source and overall, by day, by round, by investor.

CREATE INDEX IF NOT EXISTS investment_rows_status ON investment_rows (status, source_no, raised_cents, committed_cents);
CREATE INDEX IF NOT EXISTS investment_rows_applied ON investment_rows (source_no, applied_at, raised_cents);
CREATE INDEX IF NOT EXISTS investment_rows_newest ON investment_rows (applied_at);
CREATE INDEX IF NOT EXISTS investment_rows_day ON investment_rows
  (source_no, company_id, substr(applied_at, 1, 10), currency, raised_cents, committed_cents);
CREATE INDEX IF NOT EXISTS investment_rows_round ON investment_rows
  (source_no, offering_id, status, currency, company_id, raised_cents, committed_cents, in_escrow_cents);
CREATE INDEX IF NOT EXISTS investment_rows_investor ON investment_rows
  (investor_id, source_no, currency, raised_cents, committed_cents, applied_at);
