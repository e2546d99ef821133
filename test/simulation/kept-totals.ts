import type { Reader } from './reader.js';

const pairs = [
  [
    'SELECT source, offering_id, status, currency, company_id, investments, committed_cents, in_escrow_cents, raised_cents FROM round_totals',
    `SELECT source, offering_id, status, currency, company_id, count(*), coalesce(sum(committed_cents), 0),
            coalesce(sum(in_escrow_cents), 0), coalesce(sum(raised_cents), 0)
     FROM investments GROUP BY source, offering_id, status, currency, company_id`,
  ],
  [
    'SELECT source, company_id, day, currency, investments, committed_cents, raised_cents FROM daily_raised',
    `SELECT source, company_id, substr(applied_at, 1, 10), currency, count(*), coalesce(sum(committed_cents), 0),
            coalesce(sum(raised_cents), 0)
     FROM investments GROUP BY source, company_id, substr(applied_at, 1, 10), currency`,
  ],
  [
    'SELECT source, investor_id, currency, investments, committed_cents, raised_cents, first_applied_at, last_applied_at FROM investor_totals',
    `SELECT source, investor_id, currency, count(*), coalesce(sum(committed_cents), 0), coalesce(sum(raised_cents), 0),
            min(applied_at), max(applied_at)
     FROM investments WHERE investor_id IS NOT NULL GROUP BY source, investor_id, currency`,
  ],
] as const;

/**
 * The database stores totals beside the rows. Returns the first total that differs from its rows, or null.
 */
export function wrongTotal(reader: Pick<Reader, 'rows'>): string | null {
  for (const [kept, added] of pairs)
    for (const [these, those] of [
      [kept, added],
      [added, kept],
    ]) {
      const [stray] = reader.rows(`${these} EXCEPT ${those}`);
      if (stray !== undefined) return JSON.stringify(stray);
    }
  return null;
}
