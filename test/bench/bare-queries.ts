/*
 * The best hand-written form of each documented query, on tables designed only for it: one wide table including
 * the person, and for each query an index that covers it. The rows are the same as in the mirror.
 */

/** Copies from an attached mirror called `mirror`. */
export const bareTables = `
  CREATE TABLE state AS SELECT source, meaning, complete_up_to, rows, last_error FROM mirror.sync_status;
  CREATE TABLE rows AS SELECT * FROM mirror.roster;
  CREATE TABLE superseded AS SELECT * FROM mirror.investment_history;
  CREATE TABLE counted AS SELECT * FROM mirror.round_stats;
  CREATE TABLE log (seq INTEGER PRIMARY KEY, at, source, id, kind, fields);
  INSERT INTO log SELECT seq, at, source, id, kind, fields FROM mirror.changes;

  CREATE INDEX by_status ON rows (status, currency, raised_cents);
  CREATE INDEX by_round ON rows (source, round_name, offering_id, currency, raised_cents, in_escrow_cents);
  CREATE INDEX by_round_status ON rows (source, offering_id, status, currency, committed_cents, raised_cents);
  CREATE INDEX by_day ON rows (substr(applied_at, 1, 10), currency, raised_cents);
  CREATE INDEX by_investor ON rows (investor_id, currency, raised_cents);
  CREATE INDEX by_investor_of_source ON rows (source, currency, investor_id, raised_cents);
  CREATE INDEX by_size ON rows (currency, committed_cents);
  CREATE INDEX waiting ON rows (source, applied_at, id, blockers) WHERE status = 'active' AND blockers <> '[]';
  CREATE INDEX escrow ON rows (source, currency, applied_at, in_escrow_cents) WHERE in_escrow_cents > 0;
  CREATE INDEX by_id ON rows (source, id, round_name);
  CREATE INDEX by_newest ON rows (source, applied_at DESC);
  CREATE INDEX by_validity ON rows (source, offering_id, currency, valid_from, raised_cents);
  CREATE INDEX superseded_of ON superseded (source, id, valid_from, round_name);
  CREATE INDEX gone ON superseded (ended_by, valid_to, currency, raised_cents);
  CREATE INDEX was_valid ON superseded (valid_to, valid_from, source, offering_id, currency, raised_cents);
  ANALYZE main;`;

/** By the name of the documented query; each returns the same rows in the same order. */
export const bareQueries: Readonly<Record<string, string>> = {
  freshness: 'SELECT source, meaning, complete_up_to, rows, last_error FROM state ORDER BY source',
  'by-status': `SELECT status, currency, count(*) AS investments, sum(raised_cents) AS raised_cents
    FROM rows GROUP BY status, currency ORDER BY raised_cents DESC, status`,
  'by-round': `SELECT source, round_name, offering_id, currency, count(*) AS investments,
      sum(raised_cents) AS raised_cents, sum(in_escrow_cents) AS in_escrow_cents
    FROM rows GROUP BY source, round_name, offering_id, currency ORDER BY raised_cents DESC, offering_id NULLS FIRST, source`,
  'round-differences': `WITH own AS (
      SELECT source, offering_id, status, currency, count(*) AS investments, sum(committed_cents) AS committed_cents,
             sum(raised_cents) AS raised_cents
      FROM rows GROUP BY source, offering_id, status, currency)
    SELECT p.source, p.round_name, p.offering_id, p.status, p.investments, m.investments, p.raised_cents, m.raised_cents,
           p.asked_at
    FROM counted p LEFT JOIN own m ON m.source = p.source AND m.offering_id = p.offering_id AND m.status = p.status
      AND m.currency IS p.currency
    WHERE m.investments IS NULL OR m.investments <> p.investments OR m.committed_cents <> p.committed_cents
       OR m.raised_cents <> p.raised_cents
    ORDER BY p.source, p.offering_id, p.status`,
  'raised-per-day': `SELECT substr(applied_at, 1, 10) AS day, currency, sum(raised_cents) AS raised_cents,
      sum(sum(raised_cents)) OVER (PARTITION BY currency ORDER BY substr(applied_at, 1, 10)) AS raised_cents_so_far
    FROM rows WHERE substr(applied_at, 1, 10) IS NOT NULL
    GROUP BY substr(applied_at, 1, 10), currency ORDER BY day, currency`,
  'raised-per-month': `SELECT substr(day, 1, 7) AS month, currency, sum(investments) AS investments, sum(raised) AS raised_cents
    FROM (SELECT substr(applied_at, 1, 10) AS day, currency, count(*) AS investments, sum(raised_cents) AS raised
          FROM rows WHERE substr(applied_at, 1, 10) IS NOT NULL GROUP BY substr(applied_at, 1, 10), currency)
    GROUP BY month, currency ORDER BY month, currency`,
  'top-investors': `SELECT investor_id, currency, count(*) AS investments, sum(raised_cents) AS raised_cents
    FROM rows WHERE investor_id IS NOT NULL GROUP BY investor_id, currency
    ORDER BY raised_cents DESC, investor_id LIMIT 20`,
  concentration: `WITH totals AS (
      SELECT source, currency, sum(raised_cents) AS raised FROM rows
      WHERE investor_id IS NOT NULL GROUP BY source, currency, investor_id),
    top AS (SELECT source, currency, raised,
      row_number() OVER (PARTITION BY source, currency ORDER BY raised DESC) AS place FROM totals)
    SELECT source, currency, sum(raised) FILTER (WHERE place <= 10) AS top_ten_cents, sum(raised) AS raised_cents,
      10000 * sum(raised) FILTER (WHERE place <= 10) / nullif(sum(raised), 0) AS basis_points
    FROM top GROUP BY source, currency ORDER BY source, currency`,
  'repeat-investors': `SELECT source, currency, count(*) AS investors, count(*) FILTER (WHERE investments > 1) AS came_back
    FROM (SELECT source, currency, count(*) AS investments FROM rows
          WHERE investor_id IS NOT NULL GROUP BY source, currency, investor_id)
    GROUP BY source, currency ORDER BY source, currency`,
  'ticket-sizes': `SELECT currency, CASE WHEN committed_cents < 50000 THEN '1: under 500'
        WHEN committed_cents < 100000 THEN '2: 500 to 999' WHEN committed_cents < 500000 THEN '3: 1,000 to 4,999'
        ELSE '4: 5,000 and more' END AS size,
      count(*) AS investments, sum(committed_cents) AS committed_cents
    FROM rows WHERE committed_cents IS NOT NULL GROUP BY currency, size ORDER BY currency, size`,
  'waiting-longest': `SELECT source, round_name, id, applied_at,
      (SELECT group_concat(b.value ->> 'key', ', ') FROM json_each(blockers) b) AS blockers
    FROM rows WHERE source = 'acme' AND status = 'active' AND blockers <> '[]' AND applied_at IS NOT NULL
    ORDER BY applied_at, id LIMIT 20`,
  'escrow-ageing': `SELECT r.source, r.currency,
      CAST((julianday(s.complete_up_to) - julianday(r.applied_at)) / 7 AS INTEGER) AS weeks,
      count(*) AS investments, sum(r.in_escrow_cents) AS in_escrow_cents
    FROM state s CROSS JOIN rows r ON r.source = s.source WHERE r.in_escrow_cents > 0
    GROUP BY r.source, r.currency, weeks ORDER BY r.source, r.currency, weeks`,
  'lost-per-week': `SELECT date(valid_to, 'weekday 0', '-6 days') AS week, currency, count(*) AS withdrawn,
      sum(raised_cents) AS raised_cents
    FROM superseded WHERE ended_by = 'tombstone' GROUP BY week, currency ORDER BY week, currency`,
  'latest-changes': `SELECT l.seq, l.at, l.source, l.kind, l.fields, l.id, coalesce(
      (SELECT v.round_name FROM rows v WHERE v.source = l.source AND v.id = l.id),
      (SELECT h.round_name FROM superseded h WHERE h.source = l.source AND h.id = l.id ORDER BY h.valid_from DESC LIMIT 1)
    ) AS round_name FROM log l ORDER BY l.seq DESC LIMIT 50`,
  'as-of': `SELECT source, max(round_name) AS round_name, offering_id, currency, count(*) AS investments, coalesce(sum(raised_cents), 0) AS raised_cents
    FROM (SELECT source, round_name, offering_id, currency, raised_cents FROM rows WHERE valid_from <= '2026-10-15T00:00:00.000Z'
          UNION ALL
          SELECT source, round_name, offering_id, currency, raised_cents FROM superseded
          WHERE valid_from <= '2026-10-15T00:00:00.000Z' AND valid_to > '2026-10-15T00:00:00.000Z')
    GROUP BY source, offering_id, currency ORDER BY source, offering_id NULLS FIRST, currency`,
  'roster-page': `SELECT applied_at, id, round_name, name, email, status, currency, committed_cents
    FROM rows WHERE source = 'acme' ORDER BY applied_at DESC NULLS LAST LIMIT 50`,
};
