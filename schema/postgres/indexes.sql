-- Indexes of investment_rows, built in one go before the first listing ever is published. Ids arrive in random
-- order, so keeping an index in step row by row would write a page of it for each record. Statements can be
-- repeated; the first one makes an id unique within its source and fails while a listing holds one twice. The id
-- stands first in it, because people ask for an id without naming its source.
--
-- One for each question that is asked again and again: by status, newest first within a source and overall, by
-- day, by round, by investor. What totals add up stands beside the key (INCLUDE), so that no row is fetched; beside
-- the day stands the time it is taken from, without which the planner fetches every row after all.
-- The last two hold only the rows their question is about: who waits, and what is in escrow.
-- The newest stand as pages of the roster ask for them: what has no time comes last, which a server is told each time.

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
