import type { Kysely } from 'kysely';
import type { CompanySeen } from '../../../console/ports/company.js';
import type {
  Amounts,
  CompanyFigures,
  CompanyTotals,
  PastCompanies,
  Sums,
} from '../../../console/ports/overview.js';
import { presentState } from '../../../domain/as-of.js';
import { type Instant, millisOf } from '../../../domain/instant.js';
import { sql } from '../../query-builder.js';
import { investmentsAsOf, versionsAt, youngerSources } from '../as-of.js';
import { namesOf } from '../names.js';
import type { ReadDatabase } from '../views.js';
import { goneByDay, largestChanges, latestOpenedFirst } from './company.js';
import { weeksOf } from './overview.js';
import { sumOf } from './past.js';

/* The data of the pages of companies as of a past time. */

type Db = Kysely<ReadDatabase>;

const amounts = [
  sql<number>`count(*)`.as('investments'),
  sumOf('committed_cents').as('committed_cents'),
  sumOf('raised_cents').as('raised_cents'),
  sumOf('in_escrow_cents').as('in_escrow_cents'),
] as const;

/** Returns the totals of all companies as of a past time. Throws `usage` when the history does not reach back to it. */
export async function readPastCompanies(db: Db, at: Instant): Promise<PastCompanies> {
  const younger = await youngerSources(db, at);
  const rows = await db
    .selectFrom(investmentsAsOf(at, 't'))
    .select(['source', 'company_id', 'currency', ...amounts])
    .groupBy(['source', 'company_id', 'currency'])
    .orderBy('source')
    .orderBy('company_id')
    .orderBy('currency')
    .execute();
  const names = await namesOf(db, { at, of: rows });
  const totals = rows.map(
    ({ source, company_id, currency, ...sums }): CompanyTotals => ({
      ...{ source, company_id, currency, ...asSums(sums) },
      company_name: names.company(source, company_id),
    }),
  );
  return { younger, totals };
}

/** Investments that have all of this in common. */
interface Group extends Amounts {
  readonly status: string;
  readonly offering_id: string | null;
  readonly day: string | null;
  readonly in_escrow_cents: number;
}

/**
 * Returns what the page of a company shows as of a past time; its weeks end with that day. Throws `usage` when the history of
 * the source does not reach back to it.
 */
export async function readPastCompany(
  db: Db,
  source: string,
  company: string | null,
  at: Instant,
  now: number,
  largestMax: number,
): Promise<CompanySeen> {
  await youngerSources(db, at, source);
  const groups = await groupsOf(db, source, company, at);
  const names = await namesOf(db, { at, source });
  const investors = await investorsOf(db, source, company, at);
  const weeks = weeksOf(at === presentState ? now : millisOf(at));
  const within = (from: string, to: string) => (group: Group) =>
    group.day !== null && group.day >= from && group.day <= to;
  const figures = totalsBy(groups, ({ currency }) => [currency]).map(({ of, sums }): CompanyFigures => {
    const own = groups.filter(({ currency }) => currency === of.currency);
    return {
      ...{ source, company_id: company, company_name: names.company(source, company) },
      ...{ currency: of.currency, ...sums, investors: investors.get(of.currency) ?? 0 },
      week: sumUp(own.filter(within(weeks.from, weeks.to))),
      weekBefore: sumUp(own.filter(within(weeks.beforeFrom, weeks.beforeTo))),
    };
  });
  return {
    name: names.company(source, company),
    byStatus: totalsBy(groups, ({ currency, status }) => [status, currency]).map(({ of, sums }) => ({
      ...{ status: of.status, currency: of.currency, ...sums },
    })),
    byRound: totalsBy(groups, ({ currency, offering_id }) => [offering_id, currency]).map(
      ({ of, sums, all }) => ({
        ...{ offering_id: of.offering_id, currency: of.currency, ...sums },
        round_name: names.round(source, of.offering_id),
        in_escrow_cents: all.reduce((sum, { in_escrow_cents }) => sum + in_escrow_cents, 0),
      }),
    ),
    byDay: totalsBy(groups, ({ currency, day }) => [day, currency]).flatMap(({ of, sums }) =>
      of.day === null ? [] : [{ day: of.day, currency: of.currency, ...sums }],
    ),
    leftByDay: await goneByDay(db, source, company, 'valid_to', at),
    goneByDay: await goneByDay(db, source, company, 'applied_at', at),
    largest: await largestChanges(db, source, company, largestMax, at),
    figures,
    weeks,
    rounds: await roundsAsOf(db, source, company, at),
  };
}

/** Reads the investments of then once, in groups from which every figure follows. */
async function groupsOf(
  db: Db,
  source: string,
  company: string | null,
  at: Instant,
): Promise<readonly Group[]> {
  const day = sql<string | null>`substr(${sql.ref('t.applied_at')}, 1, 10)`;
  const rows = await db
    .selectFrom(investmentsAsOf(at, 't'))
    .select(['t.status', 't.offering_id', 't.currency', day.as('day'), ...amounts])
    .where('t.source', '=', source)
    .where('t.company_id', company === null ? 'is' : '=', company)
    .groupBy(['t.status', 't.offering_id', 't.currency', day])
    .orderBy(day)
    .orderBy('t.status')
    .orderBy('t.offering_id')
    .execute();
  return rows.map((row) => ({ ...row, ...asSums(row), in_escrow_cents: Number(row.in_escrow_cents) }));
}

async function investorsOf(
  db: Db,
  source: string,
  company: string | null,
  at: Instant,
): Promise<ReadonlyMap<string | null, number>> {
  const rows = await db
    .selectFrom(investmentsAsOf(at, 't'))
    .select(['t.currency', sql<number>`count(DISTINCT t.investor_id)`.as('investors')])
    .where('t.source', '=', source)
    .where('t.company_id', company === null ? 'is' : '=', company)
    .groupBy('t.currency')
    .execute();
  return new Map(rows.map(({ currency, investors }) => [currency, Number(investors)]));
}

async function roundsAsOf(db: Db, source: string, company: string | null, at: Instant) {
  const columns = [
    ...(['source', 'company_id', 'id', 'name', 'status', 'testing_the_waters', 'currency'] as const),
    ...(['target_cents', 'max_target_cents', 'min_investment_cents', 'opened_at', 'closes_at'] as const),
    'closed_at' as const,
  ];
  const rows = await db
    .selectFrom(versionsAt('rounds', columns, at, 'r'))
    .selectAll()
    .where('r.source', '=', source)
    .where('r.company_id', company === null ? 'is' : '=', company)
    .orderBy('r.id')
    .execute();
  return latestOpenedFirst(rows.map(({ source: _, company_id: __, ...round }) => round));
}

interface Total {
  /** The first of the groups. */
  readonly of: Group;
  readonly all: readonly Group[];
  readonly sums: Sums;
}

/** Returns the sums of the groups with equal keys, in the order in which these appear. */
function totalsBy(groups: readonly Group[], keyOf: (group: Group) => readonly unknown[]): readonly Total[] {
  const found = new Map<string, [Group, ...Group[]]>();
  for (const group of groups) {
    const key = JSON.stringify(keyOf(group));
    const own = found.get(key);
    if (own === undefined) found.set(key, [group]);
    else own.push(group);
  }
  return [...found.values()].map((all) => ({ of: all[0], all, sums: sumUp(all) }));
}

function sumUp(groups: readonly Sums[]): Sums {
  const sum = (of: keyof Sums) => groups.reduce((sofar, group) => sofar + group[of], 0);
  return {
    investments: sum('investments'),
    committed_cents: sum('committed_cents'),
    raised_cents: sum('raised_cents'),
  };
}

const asSums = (row: Sums): Sums => ({
  investments: Number(row.investments),
  committed_cents: Number(row.committed_cents),
  raised_cents: Number(row.raised_cents),
});
