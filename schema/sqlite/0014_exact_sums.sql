-- A sum beyond 64 bits is never a rounded number. Totals are kept as 64-bit integers, and SQLite makes a real number of
-- one that grows beyond: from the first such sum of a source its totals are added up from the rows, exactly, until it is
-- listed anew. 1,024 investments of 2^53 cents do that; no company has them, and a broken platform may.
--
-- A total that does not fit is 9223372036854775807 (or -9223372036854775807), so that sum() over it fails instead of
-- being wrong, and exact_cents has the digits of all sums of the row.

CREATE TABLE beyond_sums (
  source_no INTEGER PRIMARY KEY REFERENCES sources (no) ON DELETE CASCADE
) STRICT;

CREATE TRIGGER round_rows_beyond_added AFTER INSERT ON round_rows
WHEN NOT (new.committed_cents BETWEEN -9223372035999999999 AND 9223372035999999999 AND new.in_escrow_cents BETWEEN -9223372035999999999 AND 9223372035999999999 AND new.raised_cents BETWEEN -9223372035999999999 AND 9223372035999999999)
BEGIN
  INSERT OR IGNORE INTO beyond_sums (source_no) VALUES (new.source_no);
END;

CREATE TRIGGER round_rows_beyond_changed AFTER UPDATE OF committed_cents, in_escrow_cents, raised_cents ON round_rows
WHEN NOT (new.committed_cents BETWEEN -9223372035999999999 AND 9223372035999999999 AND new.in_escrow_cents BETWEEN -9223372035999999999 AND 9223372035999999999 AND new.raised_cents BETWEEN -9223372035999999999 AND 9223372035999999999)
BEGIN
  INSERT OR IGNORE INTO beyond_sums (source_no) VALUES (new.source_no);
END;

CREATE TRIGGER day_rows_beyond_added AFTER INSERT ON day_rows
WHEN NOT (new.committed_cents BETWEEN -9223372035999999999 AND 9223372035999999999 AND new.raised_cents BETWEEN -9223372035999999999 AND 9223372035999999999)
BEGIN
  INSERT OR IGNORE INTO beyond_sums (source_no) VALUES (new.source_no);
END;

CREATE TRIGGER day_rows_beyond_changed AFTER UPDATE OF committed_cents, raised_cents ON day_rows
WHEN NOT (new.committed_cents BETWEEN -9223372035999999999 AND 9223372035999999999 AND new.raised_cents BETWEEN -9223372035999999999 AND 9223372035999999999)
BEGIN
  INSERT OR IGNORE INTO beyond_sums (source_no) VALUES (new.source_no);
END;

CREATE TRIGGER investor_rows_beyond_added AFTER INSERT ON investor_rows
WHEN NOT (new.committed_cents BETWEEN -9223372035999999999 AND 9223372035999999999 AND new.raised_cents BETWEEN -9223372035999999999 AND 9223372035999999999)
BEGIN
  INSERT OR IGNORE INTO beyond_sums (source_no) VALUES (new.source_no);
END;

CREATE TRIGGER investor_rows_beyond_changed AFTER UPDATE OF committed_cents, raised_cents ON investor_rows
WHEN NOT (new.committed_cents BETWEEN -9223372035999999999 AND 9223372035999999999 AND new.raised_cents BETWEEN -9223372035999999999 AND 9223372035999999999)
BEGIN
  INSERT OR IGNORE INTO beyond_sums (source_no) VALUES (new.source_no);
END;

-- Sums that were beyond before this.
INSERT OR IGNORE INTO beyond_sums (source_no)
SELECT source_no FROM round_rows WHERE NOT (committed_cents BETWEEN -9223372035999999999 AND 9223372035999999999
  AND in_escrow_cents BETWEEN -9223372035999999999 AND 9223372035999999999 AND raised_cents BETWEEN -9223372035999999999 AND 9223372035999999999)
UNION SELECT source_no FROM day_rows WHERE NOT (committed_cents BETWEEN -9223372035999999999 AND 9223372035999999999
  AND raised_cents BETWEEN -9223372035999999999 AND 9223372035999999999)
UNION SELECT source_no FROM investor_rows WHERE NOT (committed_cents BETWEEN -9223372035999999999 AND 9223372035999999999
  AND raised_cents BETWEEN -9223372035999999999 AND 9223372035999999999);

DROP VIEW round_totals;
CREATE VIEW round_totals AS
SELECT s.name AS source, t.company_id, t.offering_id, t.status, t.currency, t.investments,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beyond_sums) THEN t.committed_cents ELSE (
         SELECT CASE WHEN x.g BETWEEN -9223372035 AND 9223372035 THEN x.g * 1000000000 + x.u
                     WHEN x.g > 0 THEN 9223372036854775807 ELSE -9223372036854775807 END
         FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(committed_cents / 1000000000), 0) AS g, coalesce(sum(committed_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.offering_id IS t.offering_id AND r.status = t.status
            AND r.currency IS t.currency AND r.company_id IS t.company_id) y) x) END AS committed_cents,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beyond_sums) THEN t.in_escrow_cents ELSE (
         SELECT CASE WHEN x.g BETWEEN -9223372035 AND 9223372035 THEN x.g * 1000000000 + x.u
                     WHEN x.g > 0 THEN 9223372036854775807 ELSE -9223372036854775807 END
         FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(in_escrow_cents / 1000000000), 0) AS g, coalesce(sum(in_escrow_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.offering_id IS t.offering_id AND r.status = t.status
            AND r.currency IS t.currency AND r.company_id IS t.company_id) y) x) END AS in_escrow_cents,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beyond_sums) THEN t.raised_cents ELSE (
         SELECT CASE WHEN x.g BETWEEN -9223372035 AND 9223372035 THEN x.g * 1000000000 + x.u
                     WHEN x.g > 0 THEN 9223372036854775807 ELSE -9223372036854775807 END
         FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(raised_cents / 1000000000), 0) AS g, coalesce(sum(raised_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.offering_id IS t.offering_id AND r.status = t.status
            AND r.currency IS t.currency AND r.company_id IS t.company_id) y) x) END AS raised_cents,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beyond_sums) THEN NULL
         WHEN (SELECT x.g NOT BETWEEN -9223372035 AND 9223372035 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(committed_cents / 1000000000), 0) AS g, coalesce(sum(committed_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.offering_id IS t.offering_id AND r.status = t.status
            AND r.currency IS t.currency AND r.company_id IS t.company_id) y) x) OR (SELECT x.g NOT BETWEEN -9223372035 AND 9223372035 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(in_escrow_cents / 1000000000), 0) AS g, coalesce(sum(in_escrow_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.offering_id IS t.offering_id AND r.status = t.status
            AND r.currency IS t.currency AND r.company_id IS t.company_id) y) x) OR (SELECT x.g NOT BETWEEN -9223372035 AND 9223372035 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(raised_cents / 1000000000), 0) AS g, coalesce(sum(raised_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.offering_id IS t.offering_id AND r.status = t.status
            AND r.currency IS t.currency AND r.company_id IS t.company_id) y) x) THEN '{"committed_cents":"' || (SELECT CASE WHEN z.g < 0 OR z.u < 0 THEN '-' ELSE '' END || CASE z.g WHEN 0 THEN abs(z.u) ELSE abs(z.g) || printf('%09d', abs(z.u)) END
           FROM (SELECT x.g - (x.g > 0 AND x.u < 0) + (x.g < 0 AND x.u > 0) AS g,
                        x.u + 1000000000 * ((x.g > 0 AND x.u < 0) - (x.g < 0 AND x.u > 0)) AS u
                 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(committed_cents / 1000000000), 0) AS g, coalesce(sum(committed_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.offering_id IS t.offering_id AND r.status = t.status
            AND r.currency IS t.currency AND r.company_id IS t.company_id) y) x) z) || '"' || ',"in_escrow_cents":"' || (SELECT CASE WHEN z.g < 0 OR z.u < 0 THEN '-' ELSE '' END || CASE z.g WHEN 0 THEN abs(z.u) ELSE abs(z.g) || printf('%09d', abs(z.u)) END
           FROM (SELECT x.g - (x.g > 0 AND x.u < 0) + (x.g < 0 AND x.u > 0) AS g,
                        x.u + 1000000000 * ((x.g > 0 AND x.u < 0) - (x.g < 0 AND x.u > 0)) AS u
                 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(in_escrow_cents / 1000000000), 0) AS g, coalesce(sum(in_escrow_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.offering_id IS t.offering_id AND r.status = t.status
            AND r.currency IS t.currency AND r.company_id IS t.company_id) y) x) z) || '"' || ',"raised_cents":"' || (SELECT CASE WHEN z.g < 0 OR z.u < 0 THEN '-' ELSE '' END || CASE z.g WHEN 0 THEN abs(z.u) ELSE abs(z.g) || printf('%09d', abs(z.u)) END
           FROM (SELECT x.g - (x.g > 0 AND x.u < 0) + (x.g < 0 AND x.u > 0) AS g,
                        x.u + 1000000000 * ((x.g > 0 AND x.u < 0) - (x.g < 0 AND x.u > 0)) AS u
                 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(raised_cents / 1000000000), 0) AS g, coalesce(sum(raised_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.offering_id IS t.offering_id AND r.status = t.status
            AND r.currency IS t.currency AND r.company_id IS t.company_id) y) x) z) || '"' || '}' END AS exact_cents
FROM sources s CROSS JOIN round_rows t ON t.source_no = s.no
WHERE t.investments > 0;

DROP VIEW daily_raised;
CREATE VIEW daily_raised AS
SELECT s.name AS source, t.company_id, t.day, t.currency, t.investments,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beyond_sums) THEN t.committed_cents ELSE (
         SELECT CASE WHEN x.g BETWEEN -9223372035 AND 9223372035 THEN x.g * 1000000000 + x.u
                     WHEN x.g > 0 THEN 9223372036854775807 ELSE -9223372036854775807 END
         FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(committed_cents / 1000000000), 0) AS g, coalesce(sum(committed_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.company_id IS t.company_id AND substr(r.applied_at, 1, 10) IS t.day
            AND r.currency IS t.currency) y) x) END AS committed_cents,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beyond_sums) THEN t.raised_cents ELSE (
         SELECT CASE WHEN x.g BETWEEN -9223372035 AND 9223372035 THEN x.g * 1000000000 + x.u
                     WHEN x.g > 0 THEN 9223372036854775807 ELSE -9223372036854775807 END
         FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(raised_cents / 1000000000), 0) AS g, coalesce(sum(raised_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.company_id IS t.company_id AND substr(r.applied_at, 1, 10) IS t.day
            AND r.currency IS t.currency) y) x) END AS raised_cents,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beyond_sums) THEN NULL
         WHEN (SELECT x.g NOT BETWEEN -9223372035 AND 9223372035 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(committed_cents / 1000000000), 0) AS g, coalesce(sum(committed_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.company_id IS t.company_id AND substr(r.applied_at, 1, 10) IS t.day
            AND r.currency IS t.currency) y) x) OR (SELECT x.g NOT BETWEEN -9223372035 AND 9223372035 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(raised_cents / 1000000000), 0) AS g, coalesce(sum(raised_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.company_id IS t.company_id AND substr(r.applied_at, 1, 10) IS t.day
            AND r.currency IS t.currency) y) x) THEN '{"committed_cents":"' || (SELECT CASE WHEN z.g < 0 OR z.u < 0 THEN '-' ELSE '' END || CASE z.g WHEN 0 THEN abs(z.u) ELSE abs(z.g) || printf('%09d', abs(z.u)) END
           FROM (SELECT x.g - (x.g > 0 AND x.u < 0) + (x.g < 0 AND x.u > 0) AS g,
                        x.u + 1000000000 * ((x.g > 0 AND x.u < 0) - (x.g < 0 AND x.u > 0)) AS u
                 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(committed_cents / 1000000000), 0) AS g, coalesce(sum(committed_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.company_id IS t.company_id AND substr(r.applied_at, 1, 10) IS t.day
            AND r.currency IS t.currency) y) x) z) || '"' || ',"raised_cents":"' || (SELECT CASE WHEN z.g < 0 OR z.u < 0 THEN '-' ELSE '' END || CASE z.g WHEN 0 THEN abs(z.u) ELSE abs(z.g) || printf('%09d', abs(z.u)) END
           FROM (SELECT x.g - (x.g > 0 AND x.u < 0) + (x.g < 0 AND x.u > 0) AS g,
                        x.u + 1000000000 * ((x.g > 0 AND x.u < 0) - (x.g < 0 AND x.u > 0)) AS u
                 FROM (SELECT y.g + y.u / 1000000000 AS g, y.u % 1000000000 AS u FROM (
          SELECT coalesce(sum(raised_cents / 1000000000), 0) AS g, coalesce(sum(raised_cents % 1000000000), 0) AS u
          FROM investment_rows r WHERE r.source_no = t.source_no AND r.company_id IS t.company_id AND substr(r.applied_at, 1, 10) IS t.day
            AND r.currency IS t.currency) y) x) z) || '"' || '}' END AS exact_cents
FROM sources s CROSS JOIN day_rows t ON t.source_no = s.no
WHERE t.investments > 0;

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
FROM investor_rows t CROSS JOIN sources s ON s.no = t.source_no;
