-- Indexes of investment_rows, built in one go before the first listing ever is published. Ids arrive in random
-- order, so keeping an index in step row by row would write a page of it for each record. Statements can be
-- repeated; the first one makes an id unique within its source and fails while a listing holds one twice.

CREATE UNIQUE INDEX IF NOT EXISTS investment_rows_id ON investment_rows (source_no, id);
CREATE INDEX IF NOT EXISTS investment_rows_status ON investment_rows (source_no, status, raised_cents, committed_cents);
CREATE INDEX IF NOT EXISTS investment_rows_applied ON investment_rows (source_no, applied_at, raised_cents);
CREATE INDEX IF NOT EXISTS investment_rows_investor ON investment_rows (investor_id, source_no, raised_cents);
CREATE INDEX IF NOT EXISTS investment_rows_offering ON investment_rows (offering_id, status, raised_cents);
