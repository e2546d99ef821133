-- Indexes of investment_rows, built in one go before the first listing ever is published. Ids arrive in random
-- order, so keeping an index in step row by row would write a page of it for each record. Statements can be
-- repeated; the first one makes an id unique within its source and fails while a listing holds one twice. The id
-- stands first in it, because people ask for an id without naming its source.
--
-- One for each question that is asked again and again, with all that its totals need, so that no row is fetched:
-- by status, newest first within a source and overall, of a round, by investor. What rounds, days and investors add
-- up to is kept in tables of its own (0008, 0010).
-- The last two hold only the rows their question is about: who waits, and what is in escrow.

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
