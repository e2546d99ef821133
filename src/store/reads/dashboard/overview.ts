import type { Kysely } from 'kysely';
import type {
  CompanyFigures,
  CurrencyFigures,
  OverviewSeen,
  Sums,
  Weeks,
} from '../../../console/ports/overview.js';
import { sql } from '../../query-builder.js';
import type { ReadDatabase } from '../views.js';
import { companiesShown } from './company.js';
import { appliedBetween, companySums } from './kept-sums.js';
import { latestChanges } from './latest-changes.js';

type Db = Kysely<ReadDatabase>;

/**
 * Returns the sums over all companies, the figures of those with the most investments, and the newest changes. A mirror of
 * ten thousand companies is read in a few statements that return a few rows.
 */
export async function readOverview(
  db: Db,
  now: number,
  changesMax: number,
): Promise<Pick<OverviewSeen, 'companies' | 'companies_count' | 'all' | 'weeks' | 'changes'>> {
  const weeks = weeksOf(now);
  const largest = await largestCompanies(db);
  return {
    companies: await companyFigures(db, weeks, largest.companies),
    companies_count: largest.companiesCount,
    all: await currencyFigures(db, weeks, largest.currencies),
    weeks,
    changes: await latestChanges(db, changesMax),
  };
}

export interface CompanyKey {
  readonly source: string;
  readonly company_id: string | null;
}

/** Returns the figures of these companies, one row for each currency. */
export async function companyFigures(
  db: Db,
  weeks: Weeks,
  companies: readonly CompanyKey[],
): Promise<CompanyFigures[]> {
  if (companies.length === 0) return [];
  const wanted = new Set(companies.map(companyKeyOf));
  const sources = [...new Set(companies.map(({ source }) => source))];
  const ofSources = await companiesShown(db, sources);
  const totals = ofSources.filter((one) => wanted.has(companyKeyOf(one)));
  const week = await sumsBetween(db, weeks.from, weeks.to, sources);
  const weekBefore = await sumsBetween(db, weeks.beforeFrom, weeks.beforeTo, sources);
  const investors = await investorsOf(db, ofSources, sources);
  return totals.map((one) => ({
    ...one,
    investors: investors.get(keyOf(one)) ?? 0,
    week: week.get(keyOf(one)) ?? none,
    weekBefore: weekBefore.get(keyOf(one)) ?? none,
  }));
}

/** Companies with a card of their own. */
const companiesMax = 24;

interface Largest {
  readonly companies: readonly CompanyKey[];
  readonly companiesCount: number;
  /** The sums over all companies. */
  readonly currencies: readonly (Sums & { readonly currency: string | null })[];
}

type LargestRow = Sums & CompanyKey & { readonly currency: string | null; readonly companies: number | null };

/** Returns the companies with the most investments. One statement adds up all investments once. */
async function largestCompanies(db: Db): Promise<Largest> {
  const { rows } = await sql<LargestRow>`
    WITH t AS MATERIALIZED (SELECT * FROM ${companySums(db)}),
    largest AS (
      SELECT source, company_id, sum(investments) AS investments, count(*) OVER () AS companies
      FROM t GROUP BY source, company_id ORDER BY sum(investments) DESC, source, company_id LIMIT ${companiesMax})
    SELECT source, company_id, NULL AS currency, investments, NULL AS committed_cents, NULL AS raised_cents, companies
    FROM largest
    UNION ALL
    SELECT NULL, NULL, currency, sum(investments), sum(committed_cents), sum(raised_cents), NULL
    FROM t GROUP BY currency`.execute(db);
  const companies = rows.filter((row) => row.companies !== null);
  return {
    companies,
    companiesCount: Number(companies[0]?.companies ?? 0),
    currencies: rows
      .filter((row) => row.companies === null)
      .map((row) => ({ currency: row.currency, ...asSums(row) })),
  };
}

/** Adds the sums of two weeks; the currency with the most investments comes first. */
async function currencyFigures(
  db: Db,
  weeks: Weeks,
  currencies: Largest['currencies'],
): Promise<readonly CurrencyFigures[]> {
  const ofWeeks = await allInWeeks(db, weeks);
  return currencies
    .map((sums) => ({ ...sums, week: ofWeeks(sums.currency, 1), weekBefore: ofWeeks(sums.currency, 0) }))
    .sort((one, other) => other.investments - one.investments);
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

const companyKeyOf = ({ source, company_id }: CompanyKey): string => JSON.stringify([source, company_id]);

/** As in company.ts: exact within 2^53, and never an error. */
const sumOf = (cents: string) => sql<number>`sum(CAST(${sql.ref(cents)} AS double precision))`;

const sums = [
  sql<number>`sum(investments)`.as('investments'),
  sumOf('committed_cents').as('committed_cents'),
  sumOf('raised_cents').as('raised_cents'),
] as const;

const asSums = (row: Sums): Sums => ({
  investments: Number(row.investments),
  committed_cents: Number(row.committed_cents),
  raised_cents: Number(row.raised_cents),
});

/**
 * The day as an expression that no index serves: see `appliedBetween`.
 */
const day = sql<string>`(day || '')`;

/** Returns the sums of the investments of these sources applied for on these days. */
async function sumsBetween(
  db: Db,
  from: string,
  to: string,
  sources: readonly string[],
): Promise<ReadonlyMap<string, Sums>> {
  const rows = await db
    .selectFrom('daily_raised')
    .select(['source', 'company_id', 'currency', ...sums])
    .where('source', 'in', sources)
    .where(day, '>=', from)
    .where(day, '<=', to)
    .groupBy(['source', 'company_id', 'currency'])
    .execute();
  return new Map(rows.map((row) => [keyOf(row), asSums(row)]));
}

/** Returns the sums of all investments applied for in the week (1) or in the one before (0), by currency. */
async function allInWeeks(db: Db, weeks: Weeks): Promise<(currency: string | null, week: 0 | 1) => Sums> {
  const week = sql<number>`CASE WHEN day >= ${weeks.from} THEN 1 ELSE 0 END`;
  const rows = await db
    .selectFrom(appliedBetween(db, weeks.beforeFrom, weeks.to))
    .select(['currency', week.as('week'), ...sums])
    .groupBy(['currency', 'week'])
    .execute();
  return (currency, wanted) => {
    const found = rows.find((row) => row.currency === currency && Number(row.week) === wanted);
    return found === undefined ? none : asSums(found);
  };
}

/**
 * Returns the number of investors of each company and currency of these sources. The totals of a source are by investor,
 * which is enough for a source with one company; the investments of other sources are counted one by one.
 */
async function investorsOf(
  db: Db,
  totals: readonly Pick<CompanyFigures, 'source' | 'company_id' | 'currency'>[],
  sources: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const companies = new Map<string, Set<string | null>>();
  for (const { source, company_id } of totals)
    companies.set(source, (companies.get(source) ?? new Set()).add(company_id));
  const several = [...companies].filter(([, ids]) => ids.size > 1).map(([source]) => source);
  const found = new Map<string, number>();
  const bySource = await db
    .selectFrom('investor_totals')
    .select(({ fn }) => ['source', 'currency', fn.countAll<number>().as('investors')])
    .where('source', 'in', sources)
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
