import type { Services } from '../services.js';
import { all } from '../state/statements.js';
import { publishDue } from './publisher.js';
import { feedHead } from './queries.js';
import type { OfferingRow } from './view.js';

interface Totals {
  readonly count: number;
  readonly committed_cents: number;
  readonly raised_cents: number;
}

export const statsSql = `SELECT status, count(*) AS count, sum(committed_cents) AS committed_cents,
  sum(raised_cents) AS raised_cents FROM publications INDEXED BY publications_offering
  WHERE offering_no = ? AND visible = 1 GROUP BY status ORDER BY status`;

/** Computed from the rows that a listing with this offering_id returns, so the two can be compared. */
export function offeringStats(services: Services, offering: OfferingRow, now: number): object {
  publishDue(services, now);
  const rows = all<Totals & { status: string }>(services.state, statsSql, [offering.no]);
  const total = rows.reduce<Totals>(
    (sum, row) => ({
      count: sum.count + row.count,
      committed_cents: sum.committed_cents + row.committed_cents,
      raised_cents: sum.raised_cents + row.raised_cents,
    }),
    { count: 0, committed_cents: 0, raised_cents: 0 },
  );
  return {
    data: {
      offering: offering.id,
      company: offering.company_id,
      currency: rows.length === 0 ? null : offering.currency,
      by_status: Object.fromEntries(rows.map(({ status, ...totals }) => [status, totals])),
      total,
    },
    meta: {
      source: 'published',
      published_through: new Date(Math.max(now, feedHead(services.state).observed_at)).toISOString(),
    },
  };
}
