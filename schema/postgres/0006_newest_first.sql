-- Pages of the roster are asked for newest first and what has no time last, which an index in any other order does
-- not answer; days are added up without fetching a row only where the time stands beside them. A mirror listed before
-- has both indexes by the same names as they were, and an index that is there is not built again. One under a first
-- listing gets all of them when it is complete.
DO $$
BEGIN
  IF to_regclass(format('%I.investment_rows_newest', current_schema())) IS NOT NULL THEN
    DROP INDEX investment_rows_newest;
    CREATE INDEX investment_rows_newest ON investment_rows (applied_at DESC NULLS LAST);
  END IF;
  IF to_regclass(format('%I.investment_rows_day', current_schema())) IS NOT NULL THEN
    DROP INDEX investment_rows_day;
    CREATE INDEX investment_rows_day ON investment_rows
      (source_no, company_id, substr(applied_at, 1, 10), currency) INCLUDE (raised_cents, committed_cents, applied_at);
  END IF;
END $$;
