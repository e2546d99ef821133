import type { Kysely } from 'kysely';
import type { PastOverviewSeen } from '../../../console/ports/overview.js';
import type { Instant } from '../../../domain/instant.js';
import { sql } from '../../query-builder.js';
import { investmentsAsOf, youngerSources } from '../as-of.js';
import { namesOf } from '../names.js';
import type { ReadDatabase } from '../views.js';
import { latestChanges } from './latest-changes.js';

/** As in company.ts: exact within 2^53, and never an error. */
export const sumOf = (cents: string) =>
  sql<number>`coalesce(sum(CAST(${sql.ref(cents)} AS double precision)), 0)`;

/** Returns the overview as of a past time. Throws `usage` when the history does not reach back to it. */
export async function readPast(
  db: Kysely<ReadDatabase>,
  at: Instant,
  changesMax: number,
): Promise<PastOverviewSeen> {
  const younger = await youngerSources(db, at);
  const totals = await db
    .selectFrom(investmentsAsOf(at, 't'))
    .select(['source', 'company_id', 'status', 'currency'])
    .select(({ fn }) => fn.countAll<number>().as('investments'))
    .select([sumOf('committed_cents').as('committed_cents'), sumOf('raised_cents').as('raised_cents')])
    .groupBy(['source', 'company_id', 'status', 'currency'])
    .orderBy('source')
    .orderBy('company_id')
    .orderBy('status')
    .orderBy('currency')
    .execute();
  const names = await namesOf(db, { at, of: totals });
  const changes = await latestChanges(db, changesMax, at);
  return {
    younger,
    totals: totals.map((row) => ({
      ...row,
      company_name: names.company(row.source, row.company_id),
      investments: Number(row.investments),
      committed_cents: Number(row.committed_cents),
      raised_cents: Number(row.raised_cents),
    })),
    changes,
  };
}
