import { type Kysely, sql } from 'kysely';
import type { CompanyFigures, OverviewSeen, Sums, Weeks } from '../../../console/ports/dashboard.js';
import type { ReadDatabase } from '../views.js';
import { companiesShown } from './company.js';
import { latestChanges } from './latest-changes.js';

type Db = Kysely<ReadDatabase>;

/** Returns the figures of every company, one row for each currency, and the newest changes. */
export async function readOverview(
  db: Db,
  now: number,
  changesMax: number,
): Promise<Pick<OverviewSeen, 'companies' | 'weeks' | 'changes'>> {
  const weeks = weeksOf(now);
  return {
    companies: await companyFigures(db, weeks),
    weeks,
    changes: await latestChanges(db, changesMax),
  };
}

/** Returns the figures of every company, one row for each currency. */
export async function companyFigures(db: Db, weeks: Weeks): Promise<CompanyFigures[]> {
  const totals = await companiesShown(db);
  const week = await sumsBetween(db, weeks.from, weeks.to);
  const weekBefore = await sumsBetween(db, weeks.beforeFrom, weeks.beforeTo);
  const investors = await investorsOf(db, totals);
  return totals.map((one) => ({
    ...one,
    investors: investors.get(keyOf(one)) ?? 0,
    week: week.get(keyOf(one)) ?? none,
    weekBefore: weekBefore.get(keyOf(one)) ?? none,
  }));
}

const dayMillis = 86_400_000;

/** Returns the seven days that end with the day of `now`, and the seven before, in UTC. */
export function weeksOf(now: number): Weeks {
  const day = (back: number) => new Date(now - back * dayMillis).toISOString().slice(0, 10);
  return { from: day(6), to: day(0), beforeFrom: day(13), beforeTo: day(7) };
}

const none: Sums = { investments: 0, committed_cents: 0, raised_cents: 0 };

const keyOf = ({
  source,
  company_id,
  currency,
}: Pick<CompanyFigures, 'source' | 'company_id' | 'currency'>): string =>
  JSON.stringify([source, company_id, currency]);

/** As in company.ts: exact within 2^53, and never an error. */
const sumOf = (cents: string) => sql<number>`sum(CAST(${sql.ref(cents)} AS double precision))`;

/** Returns the sums of the investments applied for on these days. */
async function sumsBetween(db: Db, from: string, to: string): Promise<ReadonlyMap<string, Sums>> {
  const rows = await db
    .selectFrom('daily_raised')
    .select(['source', 'company_id', 'currency', sql<number>`sum(investments)`.as('investments')])
    .select([sumOf('committed_cents').as('committed_cents'), sumOf('raised_cents').as('raised_cents')])
    .where('day', '>=', from)
    .where('day', '<=', to)
    .groupBy(['source', 'company_id', 'currency'])
    .execute();
  return new Map(
    rows.map((row) => [
      keyOf(row),
      {
        investments: Number(row.investments),
        committed_cents: Number(row.committed_cents),
        raised_cents: Number(row.raised_cents),
      },
    ]),
  );
}

/**
 * Returns the number of investors of each company and currency. The totals of a source are by investor, which is enough
 * for a source with one company; the investments of other sources are counted one by one.
 */
async function investorsOf(
  db: Db,
  totals: readonly Pick<CompanyFigures, 'source' | 'company_id' | 'currency'>[],
): Promise<ReadonlyMap<string, number>> {
  const companies = new Map<string, Set<string | null>>();
  for (const { source, company_id } of totals)
    companies.set(source, (companies.get(source) ?? new Set()).add(company_id));
  const several = [...companies].filter(([, ids]) => ids.size > 1).map(([source]) => source);
  const found = new Map<string, number>();
  const bySource = await db
    .selectFrom('investor_totals')
    .select(({ fn }) => ['source', 'currency', fn.countAll<number>().as('investors')])
    .groupBy(['source', 'currency'])
    .execute();
  for (const { source, currency, investors } of bySource) {
    const [company_id = null] = companies.get(source) ?? [];
    found.set(keyOf({ source, company_id, currency }), Number(investors));
  }
  if (several.length === 0) return found;
  const byCompany = await db
    .selectFrom('investments')
    .select(['source', 'company_id', 'currency'])
    .select(sql<number>`count(DISTINCT investor_id)`.as('investors'))
    .where('source', 'in', several)
    .groupBy(['source', 'company_id', 'currency'])
    .execute();
  for (const row of byCompany) found.set(keyOf(row), Number(row.investors));
  return found;
}
