-- Companies, their rounds, the platform's numbers and the posts: collections without a change feed, which are listed
-- and compared. None of them holds identity.

-- The current version of each company. `unavailable` is why the platform does not serve it.
CREATE TABLE company_rows (
  source_no                INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  id                       TEXT    NOT NULL,
  name                     TEXT,
  slug                     TEXT,
  url                      TEXT,
  status                   TEXT,
  currency                 TEXT,
  tagline                  TEXT,
  city                     TEXT,
  state                    TEXT,
  country                  TEXT,
  current_round_id         TEXT,
  raised_cents             INTEGER,
  profile_raised_cents     INTEGER,
  reported_elsewhere_cents INTEGER,
  reported_rounds          TEXT    NOT NULL,
  unavailable              TEXT,
  extra                    TEXT,
  valid_from               TEXT    NOT NULL,
  change_seq               INTEGER NOT NULL,
  PRIMARY KEY (source_no, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE company_history_rows (
  history_no               INTEGER PRIMARY KEY,
  source_no                INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  id                       TEXT    NOT NULL,
  name                     TEXT,
  slug                     TEXT,
  url                      TEXT,
  status                   TEXT,
  currency                 TEXT,
  tagline                  TEXT,
  city                     TEXT,
  state                    TEXT,
  country                  TEXT,
  current_round_id         TEXT,
  raised_cents             INTEGER,
  profile_raised_cents     INTEGER,
  reported_elsewhere_cents INTEGER,
  reported_rounds          TEXT    NOT NULL,
  unavailable              TEXT,
  extra                    TEXT,
  valid_from               TEXT    NOT NULL,
  change_seq               INTEGER NOT NULL,
  valid_to                 TEXT    NOT NULL,
  ended_by                 TEXT    NOT NULL CHECK (ended_by IN ('update', 'removed'))
) STRICT;

CREATE INDEX company_history_rows_record ON company_history_rows (id, source_no, valid_from);

-- The current version of each round. A round that the platform does not serve has what its investments say of it.
CREATE TABLE offering_rows (
  source_no                INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  id                       TEXT    NOT NULL,
  company_id               TEXT,
  name                     TEXT,
  kind                     TEXT,
  exemption                TEXT,
  status                   TEXT,
  testing_the_waters       INTEGER CHECK (testing_the_waters IN (0, 1)),
  currency                 TEXT,
  target_cents             INTEGER,
  max_target_cents         INTEGER,
  min_investment_cents     INTEGER,
  raised_cents_reported    INTEGER,
  investor_count_reported  INTEGER,
  opened_at                TEXT,
  closes_at                TEXT,
  closed_at                TEXT,
  terms                    TEXT,
  unavailable              TEXT,
  extra                    TEXT,
  valid_from               TEXT    NOT NULL,
  change_seq               INTEGER NOT NULL,
  PRIMARY KEY (source_no, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE offering_history_rows (
  history_no               INTEGER PRIMARY KEY,
  source_no                INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  id                       TEXT    NOT NULL,
  company_id               TEXT,
  name                     TEXT,
  kind                     TEXT,
  exemption                TEXT,
  status                   TEXT,
  testing_the_waters       INTEGER CHECK (testing_the_waters IN (0, 1)),
  currency                 TEXT,
  target_cents             INTEGER,
  max_target_cents         INTEGER,
  min_investment_cents     INTEGER,
  raised_cents_reported    INTEGER,
  investor_count_reported  INTEGER,
  opened_at                TEXT,
  closes_at                TEXT,
  closed_at                TEXT,
  terms                    TEXT,
  unavailable              TEXT,
  extra                    TEXT,
  valid_from               TEXT    NOT NULL,
  change_seq               INTEGER NOT NULL,
  valid_to                 TEXT    NOT NULL,
  ended_by                 TEXT    NOT NULL CHECK (ended_by IN ('update', 'removed'))
) STRICT;

CREATE INDEX offering_history_rows_record ON offering_history_rows (id, source_no, valid_from);

-- The posts of a company, without their bodies. Their superseded versions are not kept.
CREATE TABLE update_rows (
  source_no                INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  id                       TEXT    NOT NULL,
  company_id               TEXT    NOT NULL,
  kind                     TEXT,
  title                    TEXT,
  audience                 TEXT,
  published_at             TEXT,
  pinned                   INTEGER CHECK (pinned IN (0, 1)),
  url                      TEXT,
  extra                    TEXT,
  valid_from               TEXT    NOT NULL,
  change_seq               INTEGER NOT NULL,
  PRIMARY KEY (source_no, id)
) STRICT, WITHOUT ROWID;

-- What the platform's stats endpoint said, replaced as a whole at each listing.
CREATE TABLE round_stat_rows (
  source_no                INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  offering_id              TEXT    NOT NULL,
  status                   TEXT    NOT NULL,
  company_id               TEXT,
  currency                 TEXT,
  investments              INTEGER NOT NULL,
  committed_cents          INTEGER NOT NULL,
  raised_cents             INTEGER NOT NULL,
  published_through        TEXT,
  asked_at                 TEXT    NOT NULL,
  PRIMARY KEY (source_no, offering_id, status)
) STRICT, WITHOUT ROWID;

-- One row for each source and collection. `attempt` is a fence: only the newest attempt may write.
CREATE TABLE collection_rows (
  source_no                INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  collection               TEXT    NOT NULL,
  attempt                  INTEGER NOT NULL,
  asked_at                 TEXT    NOT NULL,
  -- The last complete listing. Rows are deleted by a complete listing only.
  listed_at                TEXT,
  problem                  TEXT,
  problem_since            TEXT,
  PRIMARY KEY (source_no, collection)
) STRICT, WITHOUT ROWID;

-- What a change is about: null for an investment. The view `changes` puts it before the kind: `round_changed`.
ALTER TABLE change_rows ADD COLUMN about TEXT CHECK (about IN ('company', 'round', 'update'));
-- JSON of the values of a company, round or post before and after the change. Those of an investment are not stored.
ALTER TABLE change_rows ADD COLUMN old_values TEXT;
ALTER TABLE change_rows ADD COLUMN new_values TEXT;

CREATE VIEW companies AS
SELECT s.name AS source, c.id, c.name, c.slug, c.url, c.status, c.currency, c.tagline, c.city, c.state, c.country,
       c.current_round_id, c.raised_cents, c.profile_raised_cents, c.reported_elsewhere_cents,
       c.reported_rounds, c.unavailable, c.extra,
       c.valid_from, c.change_seq
FROM company_rows c JOIN sources s ON s.no = c.source_no;

CREATE VIEW company_history AS
SELECT s.name AS source, c.id, c.name, c.slug, c.url, c.status, c.currency, c.tagline, c.city, c.state, c.country,
       c.current_round_id, c.raised_cents, c.profile_raised_cents, c.reported_elsewhere_cents,
       c.reported_rounds, c.unavailable, c.extra,
       c.valid_from, c.change_seq, c.valid_to, c.ended_by
FROM company_history_rows c JOIN sources s ON s.no = c.source_no;

CREATE VIEW rounds AS
SELECT s.name AS source, o.id, o.company_id, o.name, o.kind, o.exemption, o.status, o.testing_the_waters, o.currency,
       o.target_cents, o.max_target_cents, o.min_investment_cents, o.raised_cents_reported,
       o.investor_count_reported, o.opened_at, o.closes_at, o.closed_at, o.terms, o.unavailable, o.extra,
       o.valid_from, o.change_seq,
       (SELECT c.name FROM company_rows c WHERE c.source_no = o.source_no AND c.id = o.company_id) AS company_name
FROM offering_rows o JOIN sources s ON s.no = o.source_no;

CREATE VIEW round_history AS
SELECT s.name AS source, o.id, o.company_id, o.name, o.kind, o.exemption, o.status, o.testing_the_waters, o.currency,
       o.target_cents, o.max_target_cents, o.min_investment_cents, o.raised_cents_reported,
       o.investor_count_reported, o.opened_at, o.closes_at, o.closed_at, o.terms, o.unavailable, o.extra,
       o.valid_from, o.change_seq, o.valid_to, o.ended_by
FROM offering_history_rows o JOIN sources s ON s.no = o.source_no;

CREATE VIEW company_updates AS
SELECT s.name AS source, u.id, u.company_id, u.kind, u.title, u.audience, u.published_at, u.pinned, u.url, u.extra,
       u.valid_from, u.change_seq,
       (SELECT c.name FROM company_rows c WHERE c.source_no = u.source_no AND c.id = u.company_id) AS company_name
FROM update_rows u JOIN sources s ON s.no = u.source_no;

CREATE VIEW round_stats AS
SELECT s.name AS source, t.offering_id, t.company_id, t.status, t.currency, t.investments, t.committed_cents,
       t.raised_cents, t.published_through, t.asked_at,
       (SELECT c.name FROM company_rows c WHERE c.source_no = t.source_no AND c.id = t.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = t.source_no AND o.id = t.offering_id) AS round_name
FROM round_stat_rows t JOIN sources s ON s.no = t.source_no;

CREATE VIEW collections AS
SELECT s.name AS source, c.collection, c.asked_at, c.listed_at, c.problem, c.problem_since
FROM collection_rows c JOIN sources s ON s.no = c.source_no;

-- Every view that names a company or a round shows what it is called. The names are looked up for the rows that are
-- shown, so a query that does not ask for them pays nothing.

DROP VIEW investments;
CREATE VIEW investments AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason, r.extra,
       coalesce(r.valid_from, s.listed_at) AS valid_from, coalesce(r.change_seq, s.listed_seq) AS change_seq,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM investment_rows r JOIN sources s ON s.no = r.source_no
WHERE s.listed_at IS NOT NULL;

DROP VIEW roster;
CREATE VIEW roster AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason, r.extra,
       coalesce(r.valid_from, s.listed_at) AS valid_from, coalesce(r.change_seq, s.listed_seq) AS change_seq,
       i.name, i.legal_name, i.email, i.address_line, i.city, i.state, i.postal_code, i.country, i.bio,
       i.message, i.external_username, i.email_hidden, i.extra AS identity_extra,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM investment_rows r
JOIN sources s ON s.no = r.source_no
LEFT JOIN identity_rows i ON i.row_no = r.row_no
WHERE s.listed_at IS NOT NULL;

DROP VIEW investment_history;
CREATE VIEW investment_history AS
SELECT s.name AS source, h.id, h.company_id, h.offering_id, h.investor_id, h.status, h.group_label,
       h.investment_type, h.offering_type, h.applied_at, h.currency, h.committed_cents,
       h.investment_size_cents, h.in_escrow_cents, h.raised_cents, h.shares, h.average_share_price,
       h.needs_whitelisting, h.visible, h.converted_to, h.converted_from, h.investor_deactivated,
       h.via_entity, h.blockers, h.contracts, h.observed_at, h.reason, h.extra,
       h.valid_from, h.change_seq, h.valid_to, h.ended_by,
       (SELECT c.name FROM company_rows c WHERE c.source_no = h.source_no AND c.id = h.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = h.source_no AND o.id = h.offering_id) AS round_name
FROM history_rows h JOIN sources s ON s.no = h.source_no;

DROP VIEW incoming;
CREATE VIEW incoming AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason, r.extra,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM sources s JOIN (
  -- Ids are not unique before they are indexed; of two entries for one the later counts, as it will when published.
  SELECT n.*, max(n.row_no) FROM investment_rows n JOIN sources u ON u.no = n.source_no
  WHERE u.listed_at IS NULL GROUP BY n.source_no, n.id
) r ON r.source_no = s.no
UNION ALL
SELECT s.name, t.id, t.company_id, t.offering_id, t.investor_id, t.status, t.group_label,
       t.investment_type, t.offering_type, t.applied_at, t.currency, t.committed_cents,
       t.investment_size_cents, t.in_escrow_cents, t.raised_cents, t.shares, t.average_share_price,
       t.needs_whitelisting, t.visible, t.converted_to, t.converted_from, t.investor_deactivated,
       t.via_entity, t.blockers, t.contracts, t.observed_at, t.reason, t.extra,
       (SELECT c.name FROM company_rows c WHERE c.source_no = t.source_no AND c.id = t.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = t.source_no AND o.id = t.offering_id) AS round_name
FROM sources s JOIN staged_rows t ON t.source_no = s.no
UNION ALL
SELECT s.name, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.group_label,
       r.investment_type, r.offering_type, r.applied_at, r.currency, r.committed_cents,
       r.investment_size_cents, r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price,
       r.needs_whitelisting, r.visible, r.converted_to, r.converted_from, r.investor_deactivated,
       r.via_entity, r.blockers, r.contracts, r.observed_at, r.reason, r.extra,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM sources s JOIN investment_rows r ON r.source_no = s.no
WHERE s.listed_at IS NOT NULL
  AND r.row_no IN (SELECT seen.value FROM staged_pages p, json_each(p.seen) seen)
  AND NOT EXISTS (SELECT 1 FROM staged_rows t WHERE t.source_no = r.source_no AND t.id = r.id);

DROP VIEW awaiting_deletion;
CREATE VIEW awaiting_deletion AS
SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.currency, r.committed_cents,
       r.raised_cents, r.applied_at, a.missing_since, a.generation,
       (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
FROM awaiting_deletion_rows a
JOIN investment_rows r ON r.row_no = a.row_no
JOIN sources s ON s.no = r.source_no;

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
            AND r.currency IS t.currency AND r.company_id IS t.company_id) y) x) z) || '"' || '}' END AS exact_cents,
       (SELECT c.name FROM company_rows c WHERE c.source_no = t.source_no AND c.id = t.company_id) AS company_name,
       (SELECT o.name FROM offering_rows o WHERE o.source_no = t.source_no AND o.id = t.offering_id) AS round_name
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
            AND r.currency IS t.currency) y) x) z) || '"' || '}' END AS exact_cents,
       (SELECT c.name FROM company_rows c WHERE c.source_no = t.source_no AND c.id = t.company_id) AS company_name
FROM sources s CROSS JOIN day_rows t ON t.source_no = s.no
WHERE t.investments > 0;

DROP VIEW sync_status;
CREATE VIEW sync_status AS
SELECT s.name AS source, s.state,
       CASE
         WHEN s.state = 'halted' THEN 'stopped: a person has to help, see last_error'
         WHEN s.state = 'empty' THEN 'not started'
         WHEN s.state = 'listing' THEN 'first listing under way: nothing is shown yet'
         WHEN s.state IN ('relisting', 'held') THEN 'listing everything again: what is shown is from before'
         WHEN s.last_outcome = 'failed' THEN 'behind: the last attempt failed'
         WHEN s.state = 'sweeping' THEN 'catching up with changes made during the listing'
         WHEN s.awaiting_deletion > 0
           THEN 'following the feed; rows the last listing did not name wait for a person to accept their deletion'
         ELSE 'following the feed'
       END AS meaning,
       s.listed_at IS NOT NULL AS readable,
       s.published_through AS complete_up_to,
       s.rows_held AS rows, s.rows_incoming, s.pages_incoming,
       l.started_at AS listing_started_at, nullif(s.awaiting_deletion, 0) AS deletions_waiting,
       s.identity_included, s.quarantined, s.cursor_saved_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.cursor_saved_at, '+90 days') AS cursor_expires_at,
       s.last_tick_at, s.last_success_at, s.last_committed_at, s.last_outcome,
       s.last_error_code, s.last_error, s.last_error_at, s.retry_at,
       coalesce(s.history_from, s.listed_at) AS history_from,
       s.awaiting_deletion,
       coalesce(s.identity_included = 1 AND s.names_from_generation IS NOT NULL, 0) AS names_incomplete,
       (SELECT CASE WHEN count(*) = count(c.listed_at) THEN min(c.listed_at) END
        FROM collection_rows c WHERE c.source_no = s.no) AS collections_listed_at,
       (SELECT group_concat(p.problem, '; ')
        FROM (SELECT c.collection || ': ' || c.problem AS problem FROM collection_rows c
              WHERE c.source_no = s.no AND c.problem IS NOT NULL ORDER BY c.collection) p) AS collections_problem
FROM sources s LEFT JOIN listings l ON l.source_no = s.no;

DROP VIEW changes;
CREATE VIEW changes AS
SELECT c.seq, s.name AS source, c.id, coalesce(c.about || '_', '') || c.kind AS kind, c.fields, c.reason, c.at,
  CASE WHEN c.about IS NOT NULL THEN c.old_values WHEN c.kind IN ('changed', 'removed') AND c.at > coalesce(s.history_from, '') THEN (
    SELECT '{' || substr(
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"company_id"') > 0 THEN ',"company_id":' || json_quote(v.company_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_id"') > 0 THEN ',"offering_id":' || json_quote(v.offering_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_id"') > 0 THEN ',"investor_id":' || json_quote(v.investor_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"status"') > 0 THEN ',"status":' || json_quote(v.status) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"group_label"') > 0 THEN ',"group_label":' || json_quote(v.group_label) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_type"') > 0 THEN ',"investment_type":' || json_quote(v.investment_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_type"') > 0 THEN ',"offering_type":' || json_quote(v.offering_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"applied_at"') > 0 THEN ',"applied_at":' || json_quote(v.applied_at) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"currency"') > 0 THEN ',"currency":' || json_quote(v.currency) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"committed_cents"') > 0 THEN ',"committed_cents":' || json_quote(v.committed_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_size_cents"') > 0 THEN ',"investment_size_cents":' || json_quote(v.investment_size_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"in_escrow_cents"') > 0 THEN ',"in_escrow_cents":' || json_quote(v.in_escrow_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"raised_cents"') > 0 THEN ',"raised_cents":' || json_quote(v.raised_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"shares"') > 0 THEN ',"shares":' || json_quote(v.shares) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"average_share_price"') > 0 THEN ',"average_share_price":' || json_quote(v.average_share_price) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"needs_whitelisting"') > 0 THEN ',"needs_whitelisting":' || json_quote(v.needs_whitelisting) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"visible"') > 0 THEN ',"visible":' || json_quote(v.visible) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_to"') > 0 THEN ',"converted_to":' || json_quote(v.converted_to) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_from"') > 0 THEN ',"converted_from":' || json_quote(v.converted_from) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_deactivated"') > 0 THEN ',"investor_deactivated":' || json_quote(v.investor_deactivated) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"via_entity"') > 0 THEN ',"via_entity":' || json_quote(v.via_entity) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"blockers"') > 0 THEN ',"blockers":' || v.blockers ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"contracts"') > 0 THEN ',"contracts":' || v.contracts ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"extra"') > 0 THEN ',"extra":' || coalesce(v.extra, 'null') ELSE '' END, 2) || '}'
    FROM history_rows v
    WHERE v.valid_to = c.at AND v.history_no = (
      SELECT h.history_no FROM history_rows h
      WHERE h.id = c.id AND h.source_no = c.source_no AND h.valid_from <= c.at AND h.change_seq < c.seq
      ORDER BY h.valid_from DESC, h.change_seq DESC, h.valid_to DESC LIMIT 1)
  ) END AS before,
  CASE WHEN c.about IS NOT NULL THEN c.new_values WHEN c.kind IN ('changed', 'added') THEN (
    SELECT '{' || substr(
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"company_id"') > 0 THEN ',"company_id":' || json_quote(v.company_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_id"') > 0 THEN ',"offering_id":' || json_quote(v.offering_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_id"') > 0 THEN ',"investor_id":' || json_quote(v.investor_id) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"status"') > 0 THEN ',"status":' || json_quote(v.status) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"group_label"') > 0 THEN ',"group_label":' || json_quote(v.group_label) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_type"') > 0 THEN ',"investment_type":' || json_quote(v.investment_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"offering_type"') > 0 THEN ',"offering_type":' || json_quote(v.offering_type) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"applied_at"') > 0 THEN ',"applied_at":' || json_quote(v.applied_at) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"currency"') > 0 THEN ',"currency":' || json_quote(v.currency) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"committed_cents"') > 0 THEN ',"committed_cents":' || json_quote(v.committed_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investment_size_cents"') > 0 THEN ',"investment_size_cents":' || json_quote(v.investment_size_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"in_escrow_cents"') > 0 THEN ',"in_escrow_cents":' || json_quote(v.in_escrow_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"raised_cents"') > 0 THEN ',"raised_cents":' || json_quote(v.raised_cents) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"shares"') > 0 THEN ',"shares":' || json_quote(v.shares) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"average_share_price"') > 0 THEN ',"average_share_price":' || json_quote(v.average_share_price) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"needs_whitelisting"') > 0 THEN ',"needs_whitelisting":' || json_quote(v.needs_whitelisting) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"visible"') > 0 THEN ',"visible":' || json_quote(v.visible) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_to"') > 0 THEN ',"converted_to":' || json_quote(v.converted_to) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"converted_from"') > 0 THEN ',"converted_from":' || json_quote(v.converted_from) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"investor_deactivated"') > 0 THEN ',"investor_deactivated":' || json_quote(v.investor_deactivated) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"via_entity"') > 0 THEN ',"via_entity":' || json_quote(v.via_entity) ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"blockers"') > 0 THEN ',"blockers":' || v.blockers ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"contracts"') > 0 THEN ',"contracts":' || v.contracts ELSE '' END ||
      CASE WHEN c.kind <> 'changed' OR instr(c.fields, '"extra"') > 0 THEN ',"extra":' || coalesce(v.extra, 'null') ELSE '' END, 2) || '}'
    FROM (
      SELECT r.company_id, r.offering_id, r.investor_id, r.status, r.group_label, r.investment_type,
             r.offering_type, r.applied_at, r.currency, r.committed_cents, r.investment_size_cents,
             r.in_escrow_cents, r.raised_cents, r.shares, r.average_share_price, r.needs_whitelisting,
             r.visible, r.converted_to, r.converted_from, r.investor_deactivated, r.via_entity, r.blockers,
             r.contracts, r.extra
      FROM investment_rows r
      WHERE r.id = c.id AND r.source_no = c.source_no AND r.change_seq = c.seq
      UNION ALL
      SELECT h.company_id, h.offering_id, h.investor_id, h.status, h.group_label, h.investment_type,
             h.offering_type, h.applied_at, h.currency, h.committed_cents, h.investment_size_cents,
             h.in_escrow_cents, h.raised_cents, h.shares, h.average_share_price, h.needs_whitelisting,
             h.visible, h.converted_to, h.converted_from, h.investor_deactivated, h.via_entity, h.blockers,
             h.contracts, h.extra
      FROM history_rows h
      WHERE h.change_seq = c.seq AND h.history_no = (
        SELECT n.history_no FROM history_rows n
        WHERE n.id = c.id AND n.source_no = c.source_no AND n.valid_from >= c.at AND n.change_seq >= c.seq
        ORDER BY n.valid_from, n.change_seq LIMIT 1)
      LIMIT 1) v
  ) END AS after
FROM change_rows c JOIN sources s ON s.no = c.source_no;
