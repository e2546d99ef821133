import type { Kysely } from 'kysely';
import type { DayCount, RoundSeen } from '../../../console/ports/company.js';
import type { Amounts, CompanyTotals } from '../../../console/ports/overview.js';
import type { Instant } from '../../../domain/instant.js';
import { sql } from '../../query-builder.js';
import { namesOf } from '../names.js';
import type { ReadDatabase } from '../views.js';

/*
 * The data of a company's charts: whole cents, one row per currency, neither converted nor rounded. A null company
 * means the records without one.
 */

/** The number of newest changes searched for the largest ones, to limit the work. */
const changesSearched = 20_000;

type Db = Kysely<ReadDatabase>;

/**
 * An integer sum beyond 2^63 is an error in SQLite. A floating-point sum is exact within 2^53, as JavaScript numbers
 * are, and pages mark larger ones as approximate.
 */
const sumOf = (cents: string) => sql<number>`sum(CAST(${sql.ref(cents)} AS double precision))`;

const amounts = [
  sql<number>`sum(investments)`.as('investments'),
  sumOf('committed_cents').as('committed_cents'),
  sumOf('raised_cents').as('raised_cents'),
] as const;

/** PostgreSQL returns some sums as text; cents within 2^53 are exact as numbers. */
function asNumbers<Row extends Amounts>(row: Row): Row {
  return {
    ...row,
    investments: Number(row.investments),
    committed_cents: Number(row.committed_cents),
    raised_cents: Number(row.raised_cents),
  };
}

/** Returns the totals of the companies of all sources, or of these. */
export async function companiesShown(db: Db, sources?: readonly string[]): Promise<CompanyTotals[]> {
  const rows = await db
    .selectFrom('round_totals')
    .select(['source', 'company_id', 'company_name', 'currency', ...amounts])
    .$if(sources !== undefined, (query) => query.where('source', 'in', sources ?? []))
    .groupBy(['source', 'company_id', 'company_name', 'currency'])
    .orderBy('source')
    .orderBy('company_id')
    .orderBy('currency')
    .execute();
  return rows.map(asNumbers);
}

/** Returns what a company is called; null when nothing names it. */
export async function companyName(db: Db, source: string, company: string | null): Promise<string | null> {
  if (company === null) return null;
  const row = await db
    .selectFrom('companies')
    .select('name')
    .where('source', '=', source)
    .where('id', '=', company)
    .executeTakeFirst();
  return row?.name ?? null;
}

/** Returns the rounds of a company, the latest first; those that have not opened come first of all. */
export async function roundsShown(db: Db, source: string, company: string | null): Promise<RoundSeen[]> {
  const rows = await db
    .selectFrom('rounds')
    .select([
      ...(['id', 'name', 'status', 'testing_the_waters', 'currency', 'target_cents'] as const),
      ...(['max_target_cents', 'min_investment_cents', 'opened_at', 'closes_at', 'closed_at'] as const),
    ])
    .where('source', '=', source)
    .where('company_id', company === null ? 'is' : '=', company)
    .orderBy('id')
    .execute();
  return latestOpenedFirst(rows);
}

export function latestOpenedFirst(rounds: readonly RoundSeen[]): RoundSeen[] {
  const opened = ({ opened_at }: RoundSeen) => opened_at ?? '9';
  return rounds.toSorted((one, other) => (opened(one) > opened(other) ? -1 : 1));
}

export async function totalsByStatus(db: Db, source: string, company: string | null) {
  const rows = await db
    .selectFrom('round_totals')
    .select(['status', 'currency', ...amounts])
    .where('source', '=', source)
    .where('company_id', company === null ? 'is' : '=', company)
    .groupBy(['status', 'currency'])
    .orderBy('status')
    .execute();
  return rows.map(asNumbers);
}

export async function totalsByRound(db: Db, source: string, company: string | null) {
  const rows = await db
    .selectFrom('round_totals')
    .select(['offering_id', 'round_name', 'currency', ...amounts])
    .select(sumOf('in_escrow_cents').as('in_escrow_cents'))
    .where('source', '=', source)
    .where('company_id', company === null ? 'is' : '=', company)
    .groupBy(['offering_id', 'round_name', 'currency'])
    .orderBy('offering_id')
    .execute();
  return rows.map((row) => ({ ...asNumbers(row), in_escrow_cents: Number(row.in_escrow_cents) }));
}

/** Returns totals by the day the investor applied. Investments without one are left out. */
export async function totalsByDay(db: Db, source: string, company: string | null) {
  const rows = await db
    .selectFrom('daily_raised')
    .select(['day', 'currency', 'investments', 'committed_cents', 'raised_cents'])
    .where('source', '=', source)
    .where('company_id', company === null ? 'is' : '=', company)
    .where('day', 'is not', null)
    .orderBy('day')
    .execute();
  return rows.map((row) => asNumbers({ ...row, day: row.day ?? '' }));
}

/**
 * Returns the number of deleted investments, by the day they were deleted or the day they were applied for. One that
 * came back does not count. One deleted before the first listing was never stored. With `at`, those are counted that had been
 * deleted by then and had not come back.
 */
export async function goneByDay(
  db: Db,
  source: string,
  company: string | null,
  by: 'applied_at' | 'valid_to',
  at?: Instant,
): Promise<DayCount[]> {
  const day = sql<string>`substr(${sql.ref(`h.${by}`)}, 1, 10)`;
  const rows = await db
    .selectFrom('investment_history as h')
    .select(['h.currency', day.as('day'), sql<number>`count(distinct h.id)`.as('investments')])
    .where('h.source', '=', source)
    .where('h.company_id', company === null ? 'is' : '=', company)
    .where('h.ended_by', '<>', 'update')
    .where(`h.${by}`, 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('investments as i')
            .select('i.id')
            .whereRef('i.source', '=', 'h.source')
            .whereRef('i.id', '=', 'h.id')
            .$if(at !== undefined, (query) => query.where('i.valid_from', '<=', at ?? '')),
        ),
      ),
    )
    .$if(at !== undefined, (query) =>
      query.where('h.valid_to', '<=', at ?? '').where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('investment_history as v')
              .select('v.id')
              .whereRef('v.source', '=', 'h.source')
              .whereRef('v.id', '=', 'h.id')
              .where('v.valid_from', '<=', at ?? '')
              .where('v.valid_to', '>', at ?? ''),
          ),
        ),
      ),
    )
    .groupBy(['h.currency', day])
    .orderBy(day)
    .execute();
  return rows.map((row) => ({ ...row, investments: Number(row.investments) }));
}

/**
 * Returns those of the newest changes, or of the newest ones by `at`, that moved the most money, in either direction. With
 * `at`, rounds are called as they were then.
 */
export async function largestChanges(
  db: Db,
  source: string,
  company: string | null,
  rowsMax: number,
  at?: Instant,
) {
  const { seq } = await db
    .selectFrom('change_rows')
    .select(({ fn }) => fn.max<number | null>('seq').as('seq'))
    .$if(at !== undefined, (query) => query.where('at', '<=', at ?? ''))
    .executeTakeFirstOrThrow();
  const after = sql<number>`coalesce(i.raised_cents, n.raised_cents, 0)`;
  const before = sql<number>`coalesce(h.raised_cents, 0)`;
  const moved = sql<number>`abs(${after} - ${before})`;
  const rows = await db
    .selectFrom('changes as c')
    .innerJoin('sources as s', 's.name', 'c.source')
    // Tables, not views: SQLite would write the rows of a view that is joined like this into a temporary table, all of them.
    // The version a change created has its number, whether it is current or superseded by now.
    .leftJoin('investment_rows as i', (join) =>
      join.onRef('i.id', '=', 'c.id').onRef('i.source_no', '=', 's.no').onRef('i.change_seq', '=', 'c.seq'),
    )
    .leftJoin('history_rows as n', (join) =>
      join.onRef('n.id', '=', 'c.id').onRef('n.source_no', '=', 's.no').onRef('n.change_seq', '=', 'c.seq'),
    )
    // The version it superseded ends at the time of the change, and is the last one before it: several commits have the
    // same time after a clock was ahead.
    .leftJoin('history_rows as h', (join) =>
      join
        .onRef('h.id', '=', 'c.id')
        .onRef('h.source_no', '=', 's.no')
        .onRef('h.valid_to', '=', 'c.at')
        .onRef('h.change_seq', '<', 'c.seq')
        .on(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('history_rows as l')
                .select('l.history_no')
                .whereRef('l.id', '=', 'c.id')
                .whereRef('l.source_no', '=', 's.no')
                .whereRef('l.valid_to', '=', 'c.at')
                .whereRef('l.change_seq', '<', 'c.seq')
                .whereRef('l.change_seq', '>', 'h.change_seq'),
            ),
          ),
        ),
    )
    .leftJoin('offering_rows as o', (join) =>
      join
        .onRef('o.source_no', '=', 's.no')
        .on('o.id', '=', sql<string>`coalesce(i.offering_id, n.offering_id, h.offering_id)`),
    )
    // A record that was only published again has several versions of this number, with the same content.
    .distinct()
    .select(['c.seq', 'c.at', 'c.kind', 'c.id', before.as('before_cents'), after.as('after_cents')])
    .select(moved.as('moved'))
    .select(sql<string | null>`coalesce(i.currency, n.currency, h.currency)`.as('currency'))
    .select(['o.name as round_name', 'o.id as offering_id'])
    .where('c.seq', '>', Number(seq ?? 0) - changesSearched)
    .$if(at !== undefined, (query) => query.where('c.at', '<=', at ?? ''))
    .where('c.source', '=', source)
    .where('s.listed_at', 'is not', null)
    .where('c.id', 'is not', null)
    .where(sql`coalesce(i.company_id, n.company_id, h.company_id)`, company === null ? 'is' : '=', company)
    .where(moved, '>', 0)
    .orderBy('moved', 'desc')
    .orderBy('c.seq', 'desc')
    .limit(rowsMax)
    .execute();
  const names = at === undefined ? null : await namesOf(db, { at, source });
  return rows.map(({ moved: _, offering_id, ...row }) => ({
    ...row,
    round_name: names === null ? row.round_name : names.round(source, offering_id),
    id: row.id ?? '',
    seq: Number(row.seq),
    before_cents: Number(row.before_cents),
    after_cents: Number(row.after_cents),
  }));
}
