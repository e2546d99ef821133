-- The totals of a large first listing are computed before the commit that publishes it, so that this commit does not
-- block the event loop for seconds. Rounds and days are few; the totals of its investors are written ahead in slices
-- and stay invisible until the source is listed.
--
-- `counting`: an unfinished or outdated attempt, whose rows count for nothing. `counted`: complete. `used`: set by the
-- commit that publishes, just before it sets `listed_at`.
CREATE TABLE counted_listings (
  source_no INTEGER PRIMARY KEY REFERENCES sources (no) ON DELETE CASCADE,
  state     TEXT    NOT NULL CHECK (state IN ('counting', 'counted', 'used'))
) STRICT;

-- As in 0008 and 0010, unless the totals were computed before.
DROP TRIGGER totals_listed;
CREATE TRIGGER totals_listed AFTER UPDATE OF listed_at ON sources
WHEN old.listed_at IS NULL AND new.listed_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM counted_listings WHERE source_no = new.no AND state = 'used')
BEGIN
  INSERT INTO round_rows
  SELECT source_no, offering_id, status, currency, company_id, count(*),
         coalesce(sum(committed_cents >> 32) * 4294967296 + sum(committed_cents & 4294967295), 0),
         coalesce(sum(in_escrow_cents >> 32) * 4294967296 + sum(in_escrow_cents & 4294967295), 0),
         coalesce(sum(raised_cents >> 32) * 4294967296 + sum(raised_cents & 4294967295), 0)
  FROM investment_rows NOT INDEXED WHERE source_no = new.no
  GROUP BY offering_id, status, currency, company_id;
  INSERT INTO day_rows
  SELECT source_no, company_id, substr(applied_at, 1, 10), currency, count(*),
         coalesce(sum(committed_cents >> 32) * 4294967296 + sum(committed_cents & 4294967295), 0),
         coalesce(sum(raised_cents >> 32) * 4294967296 + sum(raised_cents & 4294967295), 0)
  FROM investment_rows NOT INDEXED WHERE source_no = new.no
  GROUP BY company_id, substr(applied_at, 1, 10), currency;
END;

DROP TRIGGER investors_listed;
CREATE TRIGGER investors_listed AFTER UPDATE OF listed_at ON sources
WHEN old.listed_at IS NULL AND new.listed_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM counted_listings WHERE source_no = new.no AND state = 'used')
BEGIN
  INSERT INTO investor_rows
  SELECT source_no, investor_id, currency, count(*),
         coalesce(sum(committed_cents >> 32) * 4294967296 + sum(committed_cents & 4294967295), 0),
         coalesce(sum(raised_cents >> 32) * 4294967296 + sum(raised_cents & 4294967295), 0)
  FROM investment_rows NOT INDEXED WHERE source_no = new.no AND investor_id IS NOT NULL
  GROUP BY investor_id, currency;
END;

-- Runs before the triggers above: the rows of an attempt that was not completed would be counted twice.
CREATE TRIGGER investors_leftover BEFORE UPDATE OF listed_at ON sources
WHEN old.listed_at IS NULL AND new.listed_at IS NOT NULL
  AND EXISTS (SELECT 1 FROM counted_listings WHERE source_no = new.no AND state <> 'used')
BEGIN
  DELETE FROM investor_rows WHERE source_no = new.no;
END;

-- Totals are visible together with the rows they count.
DROP VIEW investor_totals;
CREATE VIEW investor_totals AS
SELECT s.name AS source, t.investor_id, t.currency, t.investments,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beyond_sums) THEN t.committed_cents ELSE (
         SELECT CASE WHEN x.g BETWEEN -9223372035 AND 9223372035 THEN x.g * 1000000000 + x.u
                     WHEN x.g > 0 THEN 9223372036854775807 ELSE -9223372036854775807 END
         FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(committed_cents / 1000000000), 0) AS g, coalesce(sum(committed_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.investor_id = t.investor_id AND r.currency IS t.currency AND r.source_no = t.source_no) y) x) END AS committed_cents,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beyond_sums) THEN t.raised_cents ELSE (
         SELECT CASE WHEN x.g BETWEEN -9223372035 AND 9223372035 THEN x.g * 1000000000 + x.u
                     WHEN x.g > 0 THEN 9223372036854775807 ELSE -9223372036854775807 END
         FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(raised_cents / 1000000000), 0) AS g, coalesce(sum(raised_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.investor_id = t.investor_id AND r.currency IS t.currency AND r.source_no = t.source_no) y) x) END AS raised_cents,
       (SELECT min(r.applied_at) FROM investment_rows r
        WHERE r.investor_id = t.investor_id AND r.currency IS t.currency AND r.source_no = t.source_no) AS first_applied_at,
       (SELECT max(r.applied_at) FROM investment_rows r
        WHERE r.investor_id = t.investor_id AND r.currency IS t.currency AND r.source_no = t.source_no) AS last_applied_at,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beyond_sums) THEN NULL
         WHEN (SELECT x.g NOT BETWEEN -9223372035 AND 9223372035 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(committed_cents / 1000000000), 0) AS g, coalesce(sum(committed_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.investor_id = t.investor_id AND r.currency IS t.currency AND r.source_no = t.source_no) y) x) OR (SELECT x.g NOT BETWEEN -9223372035 AND 9223372035 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(raised_cents / 1000000000), 0) AS g, coalesce(sum(raised_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.investor_id = t.investor_id AND r.currency IS t.currency AND r.source_no = t.source_no) y) x) THEN '{"committed_cents":"' || (SELECT CASE WHEN z.g < 0 OR z.u < 0 THEN '-' ELSE '' END || CASE z.g WHEN 0 THEN abs(z.u) ELSE abs(z.g) || printf('%09d', abs(z.u)) END
           FROM (SELECT x.g - (x.g > 0 AND x.u < 0) + (x.g < 0 AND x.u > 0) AS g,
                        x.u + 1000000000 * ((x.g > 0 AND x.u < 0) - (x.g < 0 AND x.u > 0)) AS u
                 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(committed_cents / 1000000000), 0) AS g, coalesce(sum(committed_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.investor_id = t.investor_id AND r.currency IS t.currency AND r.source_no = t.source_no) y) x) z) || '"' || ',"raised_cents":"' || (SELECT CASE WHEN z.g < 0 OR z.u < 0 THEN '-' ELSE '' END || CASE z.g WHEN 0 THEN abs(z.u) ELSE abs(z.g) || printf('%09d', abs(z.u)) END
           FROM (SELECT x.g - (x.g > 0 AND x.u < 0) + (x.g < 0 AND x.u > 0) AS g,
                        x.u + 1000000000 * ((x.g > 0 AND x.u < 0) - (x.g < 0 AND x.u > 0)) AS u
                 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(raised_cents / 1000000000), 0) AS g, coalesce(sum(raised_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.investor_id = t.investor_id AND r.currency IS t.currency AND r.source_no = t.source_no) y) x) z) || '"' || '}' END AS exact_cents
FROM investor_rows t CROSS JOIN sources s ON s.no = t.source_no
WHERE s.listed_at IS NOT NULL;
