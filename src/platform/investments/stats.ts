import { type CentsSum, centsOfHalves, centsSum } from '../../domain/money.js';
import type { Services } from '../services.js';
import { all } from '../state/statements.js';
import { publishDue } from './publisher.js';
import { feedHead } from './queries.js';
import type { OfferingRow } from './view.js';

interface Totals {
  readonly count: number;
  readonly committed_cents: CentsSum;
  readonly raised_cents: CentsSum;
}

interface StatusRow {
  readonly status: string;
  readonly count: number;
  readonly committed_high: number;
  readonly committed_low: number;
  readonly raised_high: number;
  readonly raised_low: number;
}

/** The upper and the lower 32 bits are added separately: a sum beyond 2^53 would be rounded. */
export const statsSql = `SELECT status, count(*) AS count,
  sum(committed_cents >> 32) AS committed_high, sum(committed_cents & 4294967295) AS committed_low,
  sum(raised_cents >> 32) AS raised_high, sum(raised_cents & 4294967295) AS raised_low
  FROM publications INDEXED BY publications_offering
  WHERE offering_no = ? AND visible = 1 GROUP BY status ORDER BY status`;

/** Computed from the rows that a listing with this offering_id returns, so the two can be compared. */
export function offeringStats(services: Services, offering: OfferingRow, now: number): object {
  publishDue(services, now);
  const rows = all<StatusRow>(services.state, statsSql, [offering.no]).map(
    (row): readonly [string, Totals] => [
      row.status,
      {
        count: row.count,
        committed_cents: centsOfHalves(row.committed_high, row.committed_low),
        raised_cents: centsOfHalves(row.raised_high, row.raised_low),
      },
    ],
  );
  const total = rows.reduce<Totals>(
    (sum, [, row]) => ({
      count: sum.count + row.count,
      committed_cents: centsSum(sum.committed_cents, row.committed_cents),
      raised_cents: centsSum(sum.raised_cents, row.raised_cents),
    }),
    { count: 0, committed_cents: 0, raised_cents: 0 },
  );
  return {
    data: {
      offering: offering.id,
      company: offering.company_id,
      currency: rows.length === 0 ? null : offering.currency,
      by_status: Object.fromEntries(rows.map(([status, totals]) => [status, written(totals)])),
      total: written(total),
    },
    meta: {
      source: 'published',
      published_through: new Date(Math.max(now, feedHead(services.state).observed_at)).toISOString(),
    },
  };
}

const written = ({ count, committed_cents, raised_cents }: Totals) => ({
  count,
  committed_cents: digitsOf(committed_cents),
  raised_cents: digitsOf(raised_cents),
});

/** Returns what JSON.stringify writes as the digits of the sum. It has no other way to write a bigint. */
const digitsOf = (sum: CentsSum): unknown => (typeof sum === 'bigint' ? JSON.rawJSON(String(sum)) : sum);

declare global {
  /** Node has it since 21, the library of TypeScript not yet. */
  interface JSON {
    rawJSON(text: string): unknown;
  }
}
