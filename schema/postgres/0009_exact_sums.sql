-- A sum beyond 64 bits made the whole view fail. Now it is 9223372036854775807 (or -9223372036854775807), the type of
-- the column stays, and exact_cents has the digits of all sums of the row. The limit is the one SQLite has.

CREATE OR REPLACE VIEW round_totals AS
SELECT s.name AS source, r.company_id, r.offering_id, r.status, r.currency,
       count(*) AS investments,
       coalesce(CASE WHEN abs(sum(r.committed_cents)) >= 9223372036000000000
         THEN (sign(sum(r.committed_cents)) * 9223372036854775807)::bigint ELSE sum(r.committed_cents)::bigint END, 0) AS committed_cents,
       coalesce(CASE WHEN abs(sum(r.in_escrow_cents)) >= 9223372036000000000
         THEN (sign(sum(r.in_escrow_cents)) * 9223372036854775807)::bigint ELSE sum(r.in_escrow_cents)::bigint END, 0) AS in_escrow_cents,
       coalesce(CASE WHEN abs(sum(r.raised_cents)) >= 9223372036000000000
         THEN (sign(sum(r.raised_cents)) * 9223372036854775807)::bigint ELSE sum(r.raised_cents)::bigint END, 0) AS raised_cents,
       CASE WHEN abs(sum(r.committed_cents)) >= 9223372036000000000 OR abs(sum(r.in_escrow_cents)) >= 9223372036000000000 OR abs(sum(r.raised_cents)) >= 9223372036000000000
         THEN '{"committed_cents":"' || coalesce(sum(r.committed_cents), 0) || '"' || ',"in_escrow_cents":"' || coalesce(sum(r.in_escrow_cents), 0) || '"' || ',"raised_cents":"' || coalesce(sum(r.raised_cents), 0) || '"' || '}' END COLLATE "C" AS exact_cents
FROM sources s JOIN investment_rows r ON r.source_no = s.no
WHERE s.listed_at IS NOT NULL
GROUP BY s.name, r.offering_id, r.status, r.currency, r.company_id;

CREATE OR REPLACE VIEW daily_raised AS
SELECT s.name AS source, r.company_id, substr(r.applied_at, 1, 10) AS day, r.currency,
       count(*) AS investments,
       coalesce(CASE WHEN abs(sum(r.committed_cents)) >= 9223372036000000000
         THEN (sign(sum(r.committed_cents)) * 9223372036854775807)::bigint ELSE sum(r.committed_cents)::bigint END, 0) AS committed_cents,
       coalesce(CASE WHEN abs(sum(r.raised_cents)) >= 9223372036000000000
         THEN (sign(sum(r.raised_cents)) * 9223372036854775807)::bigint ELSE sum(r.raised_cents)::bigint END, 0) AS raised_cents,
       CASE WHEN abs(sum(r.committed_cents)) >= 9223372036000000000 OR abs(sum(r.raised_cents)) >= 9223372036000000000
         THEN '{"committed_cents":"' || coalesce(sum(r.committed_cents), 0) || '"' || ',"raised_cents":"' || coalesce(sum(r.raised_cents), 0) || '"' || '}' END COLLATE "C" AS exact_cents
FROM sources s JOIN investment_rows r ON r.source_no = s.no
WHERE s.listed_at IS NOT NULL
GROUP BY s.name, r.company_id, substr(r.applied_at, 1, 10), r.currency;

CREATE OR REPLACE VIEW investor_totals AS
SELECT s.name AS source, r.investor_id, r.currency,
       count(*) AS investments,
       coalesce(CASE WHEN abs(sum(r.committed_cents)) >= 9223372036000000000
         THEN (sign(sum(r.committed_cents)) * 9223372036854775807)::bigint ELSE sum(r.committed_cents)::bigint END, 0) AS committed_cents,
       coalesce(CASE WHEN abs(sum(r.raised_cents)) >= 9223372036000000000
         THEN (sign(sum(r.raised_cents)) * 9223372036854775807)::bigint ELSE sum(r.raised_cents)::bigint END, 0) AS raised_cents,
       min(r.applied_at) AS first_applied_at,
       max(r.applied_at) AS last_applied_at,
       CASE WHEN abs(sum(r.committed_cents)) >= 9223372036000000000 OR abs(sum(r.raised_cents)) >= 9223372036000000000
         THEN '{"committed_cents":"' || coalesce(sum(r.committed_cents), 0) || '"' || ',"raised_cents":"' || coalesce(sum(r.raised_cents), 0) || '"' || '}' END COLLATE "C" AS exact_cents
FROM investment_rows r JOIN sources s ON s.no = r.source_no
WHERE s.listed_at IS NOT NULL AND r.investor_id IS NOT NULL
GROUP BY r.investor_id, s.no, r.currency;
