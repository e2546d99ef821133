-- Indexes of investment_rows, built together before the very first listing is published. Ids arrive in random order,
-- so updating an index row by row would write one of its pages for each record. The statements can be repeated. The
-- first one makes an id unique within its source and fails while a listing contains an id twice. Its first column is
-- the id, because users look up an id without naming its source.
--
-- Each frequent query has an index with all the columns that its totals need, so that it is covering: by status,
-- newest first within a source and overall, by round, by investor. The totals of rounds, days and investors are stored
-- in separate tables (0008, 0010).
-- Two are partial: investments that wait, and investments in escrow. The last index finds the deleted investments of a company
-- among many superseded versions. It stands here and not in a migration, because reading all versions takes long.

CREATE UNIQUE INDEX IF NOT EXISTS investment_rows_id ON investment_rows (id, source_no);
CREATE INDEX IF NOT EXISTS investment_rows_status ON investment_rows
  (status, source_no, currency, raised_cents, committed_cents);
CREATE INDEX IF NOT EXISTS investment_rows_applied ON investment_rows (source_no, applied_at);
CREATE INDEX IF NOT EXISTS investment_rows_newest ON investment_rows (applied_at);
CREATE INDEX IF NOT EXISTS investment_rows_offering ON investment_rows (offering_id);
CREATE INDEX IF NOT EXISTS investment_rows_investor ON investment_rows (investor_id, currency, source_no, applied_at);
CREATE INDEX IF NOT EXISTS investment_rows_waiting ON investment_rows (source_no, applied_at, id)
  WHERE status = 'active' AND blockers <> '[]';
CREATE INDEX IF NOT EXISTS investment_rows_escrow ON investment_rows
  (source_no, currency, applied_at, in_escrow_cents) WHERE in_escrow_cents > 0;
CREATE INDEX IF NOT EXISTS history_rows_left ON history_rows (source_no, company_id) WHERE ended_by <> 'update';
