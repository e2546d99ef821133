import { defined } from '../domain/defined.js';

/** A common question of analysts, in English and in SQL. The documentation prints every query and a test runs it. */
export interface DocumentedQuery {
  readonly name: string;
  readonly question: string;
  /** Runs unchanged. The values that readers replace with their own are literals. */
  readonly sql: string;
  /** The statement for PostgreSQL, where its date or JSON functions differ. */
  readonly postgres?: string;
  /** Whether the result contains names of people. */
  readonly identity: boolean;
}

const bare = (name: string, question: string, sql: string, postgres?: string): DocumentedQuery => ({
  name,
  question,
  sql,
  identity: false,
  ...defined({ postgres }),
});

/** Returns the statement, and a copy with each pair of `words` replaced. */
const inBoth = (sql: string, ...words: readonly (readonly [string, string])[]): [string, string] => [
  sql,
  words.reduce((text, [ours, theirs]) => text.replaceAll(ours, theirs), sql),
];

export const documentedQueries: readonly DocumentedQuery[] = [
  bare(
    'freshness',
    'How far can I trust what I am about to read?',
    `SELECT source, meaning, complete_up_to, rows, last_error
FROM sync_status
ORDER BY source`,
  ),
  bare(
    'by-status',
    'How many investments are in each status, and how much do they raise?',
    `SELECT status, currency, sum(investments) AS investments, sum(raised_cents) AS raised_cents
FROM round_totals
GROUP BY status, currency
ORDER BY raised_cents DESC, status, currency NULLS FIRST`,
  ),
  bare(
    'by-round',
    'What has each round raised, and what is still in escrow?',
    `SELECT source, round_name, offering_id, currency, sum(investments) AS investments,
       sum(raised_cents) AS raised_cents, sum(in_escrow_cents) AS in_escrow_cents
FROM round_totals
GROUP BY source, round_name, offering_id, currency
ORDER BY raised_cents DESC, offering_id NULLS FIRST, source, currency NULLS FIRST`,
  ),
  bare(
    'round-differences',
    "Where does the platform's own count of a round differ from this mirror's?",
    ...inBoth(
      `SELECT p.source, p.round_name, p.offering_id, p.status, p.investments AS platform_investments, m.investments,
       p.raised_cents AS platform_raised_cents, m.raised_cents, p.asked_at
FROM round_stats p LEFT JOIN round_totals m
  ON m.source = p.source AND m.offering_id = p.offering_id AND m.status = p.status
    AND m.currency IS p.currency
WHERE m.investments IS NULL OR m.investments <> p.investments OR m.committed_cents <> p.committed_cents
   OR m.raised_cents <> p.raised_cents
ORDER BY p.source, p.offering_id, p.status`,
      ['m.currency IS p', 'm.currency IS NOT DISTINCT FROM p'],
    ),
  ),
  bare(
    'raised-per-day',
    'How much was raised on each day, and how much in total by then?',
    `SELECT day, currency, sum(raised_cents) AS raised_cents,
       sum(sum(raised_cents)) OVER (PARTITION BY currency ORDER BY day) AS raised_cents_so_far
FROM daily_raised
WHERE day IS NOT NULL
GROUP BY day, currency
ORDER BY day, currency NULLS FIRST`,
  ),
  bare(
    'raised-per-month',
    'How does each month compare?',
    `SELECT substr(day, 1, 7) AS month, currency, sum(investments) AS investments, sum(raised_cents) AS raised_cents
FROM daily_raised
WHERE day IS NOT NULL
GROUP BY month, currency
ORDER BY month, currency NULLS FIRST`,
  ),
  bare(
    'top-investors',
    'Who are the twenty largest investors, by id?',
    `SELECT investor_id, currency, sum(investments) AS investments, sum(raised_cents) AS raised_cents
FROM investor_totals
GROUP BY investor_id, currency
ORDER BY raised_cents DESC, investor_id, currency NULLS FIRST
LIMIT 20`,
  ),
  bare(
    'concentration',
    'What share of the money comes from the ten largest investors, in basis points (hundredths of a percent)?',
    `WITH ranked AS (
  SELECT source, currency, raised_cents,
         row_number() OVER (PARTITION BY source, currency ORDER BY raised_cents DESC) AS place
  FROM investor_totals
)
SELECT source, currency, sum(raised_cents) FILTER (WHERE place <= 10) AS top_ten_cents,
       sum(raised_cents) AS raised_cents,
       CAST(floor(10000 * sum(raised_cents) FILTER (WHERE place <= 10) / nullif(sum(raised_cents), 0)) AS bigint)
         AS basis_points
FROM ranked
GROUP BY source, currency
ORDER BY source, currency NULLS FIRST`,
  ),
  bare(
    'repeat-investors',
    'How many investors invested more than once?',
    `SELECT source, currency, count(*) AS investors, count(*) FILTER (WHERE investments > 1) AS came_back
FROM investor_totals
GROUP BY source, currency
ORDER BY source, currency NULLS FIRST`,
  ),
  bare(
    'ticket-sizes',
    'How many commitments are there of each size?',
    // Grouped by number, because numbers sort faster than the labels.
    `SELECT currency,
       CASE step
         WHEN 1 THEN '1: under 500'
         WHEN 2 THEN '2: 500 to 999'
         WHEN 3 THEN '3: 1,000 to 4,999'
         ELSE '4: 5,000 and more'
       END AS size,
       count(*) AS investments, sum(committed_cents) AS committed_cents
FROM (
  SELECT currency, committed_cents,
         CASE
           WHEN committed_cents < 50000 THEN 1
           WHEN committed_cents < 100000 THEN 2
           WHEN committed_cents < 500000 THEN 3
           ELSE 4
         END AS step
  FROM investments
  WHERE committed_cents IS NOT NULL
) AS sized
GROUP BY currency, step
ORDER BY currency NULLS FIRST, size`,
  ),
  bare(
    'waiting-longest',
    'Which active investments have waited longest, and for what?',
    ...inBoth(
      `SELECT i.source, i.round_name, i.id, i.applied_at,
       (SELECT group_concat(b.value ->> 'key', ', ') FROM json_each(i.blockers) b) AS blockers
FROM investments i
WHERE i.source = 'acme' AND i.status = 'active' AND i.blockers <> '[]' AND i.applied_at IS NOT NULL
ORDER BY i.applied_at, i.id
LIMIT 20`,
      ['group_concat', 'string_agg'],
      ['json_each(i.blockers) b', 'jsonb_array_elements(i.blockers::jsonb) AS b (value)'],
    ),
  ),
  bare(
    'escrow-ageing',
    'How much money is in escrow, by the number of weeks since the investor committed?',
    ...inBoth(
      `SELECT s.source, i.currency,
       CAST((julianday(s.complete_up_to) - julianday(i.applied_at)) / 7 AS INTEGER) AS weeks,
       count(*) AS investments, sum(i.in_escrow_cents) AS in_escrow_cents
FROM sync_status s JOIN investments i ON i.source = s.source
WHERE i.in_escrow_cents > 0
GROUP BY s.source, i.currency, weeks
ORDER BY s.source, i.currency NULLS FIRST, weeks NULLS FIRST`,
      [
        'CAST((julianday(s.complete_up_to) - julianday(i.applied_at)) / 7 AS INTEGER)',
        // PostgreSQL writes the year 0000 of ISO 8601 as 0001 BC.
        `trunc(extract(epoch FROM s.complete_up_to::timestamp - CASE WHEN i.applied_at LIKE '0000%'
         THEN ('0001' || substr(i.applied_at, 5) || ' BC')::timestamp ELSE i.applied_at::timestamp END) / 604800)::bigint`,
      ],
    ),
  ),
  bare(
    'lost-per-week',
    'How many investments were withdrawn in each week (named by its Monday), and how much had they raised?',
    ...inBoth(
      `SELECT date(valid_to, 'weekday 0', '-6 days') AS week, currency, count(*) AS withdrawn, sum(raised_cents) AS raised_cents
FROM investment_history
WHERE ended_by = 'tombstone'
GROUP BY week, currency
ORDER BY week, currency NULLS FIRST`,
      ["date(valid_to, 'weekday 0', '-6 days')", "date_trunc('week', valid_to::timestamp)::date"],
    ),
  ),
  bare(
    'latest-changes',
    'What are the latest changes, and in which round?',
    `SELECT seq, at, source, kind, fields, id, round_name
FROM changes
ORDER BY seq DESC
LIMIT 50`,
  ),
  bare(
    'as-of',
    'How much had each round raised at a past moment, as this mirror showed it then?',
    // Starts from the current totals and undoes later changes, so that SQLite sorts only what changed since.
    // PostgreSQL aggregates by hashing and stores no totals, so there this form would only read everything twice.
    `WITH counted AS (
  SELECT source, offering_id, currency, investments, raised_cents
  FROM round_totals
  UNION ALL
  SELECT source, offering_id, currency, -1, -raised_cents
  FROM investments
  WHERE valid_from > '2026-10-15T00:00:00.000Z'
  UNION ALL
  SELECT source, offering_id, currency, 1, raised_cents
  FROM investment_history
  WHERE valid_from <= '2026-10-15T00:00:00.000Z' AND valid_to > '2026-10-15T00:00:00.000Z'
)
SELECT t.source, r.name AS round_name, t.offering_id, t.currency, sum(t.investments) AS investments,
       coalesce(sum(t.raised_cents), 0) AS raised_cents
FROM counted t LEFT JOIN rounds r ON r.source = t.source AND r.id = t.offering_id
GROUP BY t.source, r.name, t.offering_id, t.currency
HAVING sum(t.investments) > 0
ORDER BY t.source, t.offering_id NULLS FIRST, t.currency NULLS FIRST`,
    `WITH then_held AS (
  SELECT source, offering_id, currency, raised_cents
  FROM investments
  WHERE valid_from <= '2026-10-15T00:00:00.000Z'
  UNION ALL
  SELECT source, offering_id, currency, raised_cents
  FROM investment_history
  WHERE valid_from <= '2026-10-15T00:00:00.000Z' AND valid_to > '2026-10-15T00:00:00.000Z'
)
SELECT t.source, r.name AS round_name, t.offering_id, t.currency, count(*) AS investments,
       coalesce(sum(t.raised_cents), 0) AS raised_cents
FROM then_held t LEFT JOIN rounds r ON r.source = t.source AND r.id = t.offering_id
GROUP BY t.source, r.name, t.offering_id, t.currency
ORDER BY t.source, t.offering_id NULLS FIRST, t.currency NULLS FIRST`,
  ),
  {
    name: 'roster-page',
    question: 'Who are the latest investors?',
    sql: `SELECT applied_at, id, round_name, name, email, status, currency, committed_cents
FROM roster
WHERE source = 'acme'
ORDER BY applied_at DESC NULLS LAST
LIMIT 50`,
    identity: true,
  },
];
