-- A commit writes a page of each index it keeps in step. Two of them served the hourly purge alone, which finds what
-- is old without them: versions by source and end, ticks by their number.
DROP INDEX tick_rows_started;
DROP INDEX history_rows_ended;

-- Mostly an amount changes: then one row of each table is moved by the difference. What was counted is taken back and
-- counted anew only where the record counts elsewhere from now on.
DROP TRIGGER totals_changed;

CREATE TRIGGER totals_moved
AFTER UPDATE OF company_id, offering_id, status, applied_at, currency ON investment_rows
WHEN (old.company_id, old.offering_id, old.status, old.applied_at, old.currency)
     IS NOT (new.company_id, new.offering_id, new.status, new.applied_at, new.currency)
  AND (SELECT listed_at FROM sources WHERE no = new.source_no) IS NOT NULL
BEGIN
  UPDATE round_rows
  SET investments = investments - 1, committed_cents = committed_cents - coalesce(old.committed_cents, 0),
      in_escrow_cents = in_escrow_cents - coalesce(old.in_escrow_cents, 0),
      raised_cents = raised_cents - coalesce(old.raised_cents, 0)
  WHERE source_no = old.source_no AND offering_id IS old.offering_id AND status = old.status
    AND currency IS old.currency AND company_id IS old.company_id;
  UPDATE round_rows
  SET investments = investments + 1, committed_cents = committed_cents + coalesce(new.committed_cents, 0),
      in_escrow_cents = in_escrow_cents + coalesce(new.in_escrow_cents, 0),
      raised_cents = raised_cents + coalesce(new.raised_cents, 0)
  WHERE source_no = new.source_no AND offering_id IS new.offering_id AND status = new.status
    AND currency IS new.currency AND company_id IS new.company_id;
  INSERT INTO round_rows
  SELECT new.source_no, new.offering_id, new.status, new.currency, new.company_id, 1,
         coalesce(new.committed_cents, 0), coalesce(new.in_escrow_cents, 0), coalesce(new.raised_cents, 0)
  WHERE changes() = 0;
  UPDATE day_rows
  SET investments = investments - 1, committed_cents = committed_cents - coalesce(old.committed_cents, 0),
      raised_cents = raised_cents - coalesce(old.raised_cents, 0)
  WHERE source_no = old.source_no AND company_id IS old.company_id
    AND day IS substr(old.applied_at, 1, 10) AND currency IS old.currency;
  UPDATE day_rows
  SET investments = investments + 1, committed_cents = committed_cents + coalesce(new.committed_cents, 0),
      raised_cents = raised_cents + coalesce(new.raised_cents, 0)
  WHERE source_no = new.source_no AND company_id IS new.company_id
    AND day IS substr(new.applied_at, 1, 10) AND currency IS new.currency;
  INSERT INTO day_rows
  SELECT new.source_no, new.company_id, substr(new.applied_at, 1, 10), new.currency, 1,
         coalesce(new.committed_cents, 0), coalesce(new.raised_cents, 0)
  WHERE changes() = 0;
END;

CREATE TRIGGER totals_changed
AFTER UPDATE OF committed_cents, in_escrow_cents, raised_cents ON investment_rows
WHEN (old.committed_cents, old.in_escrow_cents, old.raised_cents)
     IS NOT (new.committed_cents, new.in_escrow_cents, new.raised_cents)
  AND (old.company_id, old.offering_id, old.status, old.applied_at, old.currency)
      IS (new.company_id, new.offering_id, new.status, new.applied_at, new.currency)
  AND (SELECT listed_at FROM sources WHERE no = new.source_no) IS NOT NULL
BEGIN
  UPDATE round_rows
  SET committed_cents = committed_cents - coalesce(old.committed_cents, 0) + coalesce(new.committed_cents, 0),
      in_escrow_cents = in_escrow_cents - coalesce(old.in_escrow_cents, 0) + coalesce(new.in_escrow_cents, 0),
      raised_cents = raised_cents - coalesce(old.raised_cents, 0) + coalesce(new.raised_cents, 0)
  WHERE source_no = new.source_no AND offering_id IS new.offering_id AND status = new.status
    AND currency IS new.currency AND company_id IS new.company_id;
  UPDATE day_rows
  SET committed_cents = committed_cents - coalesce(old.committed_cents, 0) + coalesce(new.committed_cents, 0),
      raised_cents = raised_cents - coalesce(old.raised_cents, 0) + coalesce(new.raised_cents, 0)
  WHERE source_no = new.source_no AND company_id IS new.company_id
    AND day IS substr(new.applied_at, 1, 10) AND currency IS new.currency;
END;
