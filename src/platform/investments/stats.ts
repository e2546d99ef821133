import { type CentsSum, centsSum } from '../../domain/money.js';
import { writtenSum } from '../http/written-sum.js';
import type { Services } from '../services.js';
import { centsOfSum, exactSum } from '../state/exact-sum.js';
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
  readonly committed: string;
  readonly raised: string;
}

export const statsSql = `SELECT status, count(*) AS count, ${exactSum('committed_cents')} AS committed,
  ${exactSum('raised_cents')} AS raised
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
        committed_cents: centsOfSum(row.committed),
        raised_cents: centsOfSum(row.raised),
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
  committed_cents: writtenSum(committed_cents),
  raised_cents: writtenSum(raised_cents),
});
