import type { Kysely } from 'kysely';
import type { Identity, Investment } from '../../domain/investment.js';
import { type CentsSum, centsOfHalves } from '../../domain/money.js';
import { sql } from '../query-builder.js';
import { identityColumns, ofPerson, recordColumns } from '../record-columns.js';
import { personIn, recordIn } from '../stored-record.js';
import type { ReadDatabase } from './views.js';

/*
 * Reads of one source for comparing it with the platform. Each result that must be consistent comes from one statement.
 */

export interface StoredTally {
  readonly count: number;
  readonly committed_cents: CentsSum;
  readonly raised_cents: CentsSum;
}

export interface HeldVersion {
  readonly investment: Investment;
  readonly identity: Identity | null;
}

export async function countStored(db: Kysely<ReadDatabase>, source: string): Promise<number> {
  const { count } = await db
    .selectFrom('investments')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('source', '=', source)
    .executeTakeFirstOrThrow();
  return count;
}

/** Returns the number of records in quarantine without a later readable version. */
export async function countQuarantined(db: Kysely<ReadDatabase>, source: string): Promise<number> {
  const { count } = await db
    .selectFrom('quarantine')
    .select(({ fn }) => fn.sum<number | null>('times').as('count'))
    .where('source', '=', source)
    .where('resolved_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count ?? 0);
}

/** The number of a source with a complete listing, as the views show its rows. */
const listed = (db: Kysely<ReadDatabase>, source: string) =>
  db.selectFrom('sources').select('no').where('name', '=', source).where('listed_at', 'is not', null);

/**
 * Rows missing from the last listing whose deletion a person has to accept. They are few, and the view may be computed
 * from all rows of the mirror: the planner does not know which of the two is the small table.
 */
const awaiting = (db: Kysely<ReadDatabase>, source: string) =>
  db
    .selectFrom('awaiting_deletion_rows as a')
    .select((of) =>
      of.selectFrom('investment_rows as r').select('r.id').whereRef('r.row_no', '=', 'a.row_no').as('id'),
    )
    .where('a.source_no', '=', listed(db, source));

export async function idsAwaitingDeletion(
  db: Kysely<ReadDatabase>,
  source: string,
): Promise<ReadonlySet<string>> {
  return new Set((await awaiting(db, source).execute()).flatMap(({ id }) => (id === null ? [] : [id])));
}

/*
 * The upper and the lower 32 bits are added separately, and as text: an integer sum that overflows is an error in SQLite,
 * a floating-point sum is rounded beyond 2^53, and the drivers would round an integer.
 */
const highSum = (cents: 'committed_cents' | 'raised_cents') =>
  sql<string>`CAST(coalesce(sum(${sql.ref(cents)} >> 32), 0) AS text)`;
const lowSum = (cents: 'committed_cents' | 'raised_cents') =>
  sql<string>`CAST(coalesce(sum(${sql.ref(cents)} & 4294967295), 0) AS text)`;

/**
 * Returns counts and sums of an offering by status. Rows that are not visible to founders are left out, as in the
 * platform's statistics, and so are rows that await deletion. Reads the rows of this offering only.
 */
export async function storedTallies(
  db: Kysely<ReadDatabase>,
  source: string,
  offering: string,
): Promise<Readonly<Record<string, StoredTally>>> {
  const rows = await db
    .selectFrom('investment_rows as r')
    .select(({ fn }) => [
      'status',
      fn.countAll<number>().as('count'),
      highSum('committed_cents').as('committed_high'),
      lowSum('committed_cents').as('committed_low'),
      highSum('raised_cents').as('raised_high'),
      lowSum('raised_cents').as('raised_low'),
    ])
    .where('source_no', '=', listed(db, source))
    .where('offering_id', '=', offering)
    .where('visible', '=', 1)
    .where('row_no', 'not in', (of) =>
      of
        .selectFrom('awaiting_deletion_rows as a')
        .select('a.row_no')
        .where('a.source_no', '=', listed(db, source)),
    )
    .groupBy('status')
    .execute();
  const tallies: Record<string, StoredTally> = Object.create(null);
  for (const { status, count, ...sums } of rows)
    tallies[status] = {
      count,
      committed_cents: centsOfHalves(sums.committed_high, sums.committed_low),
      raised_cents: centsOfHalves(sums.raised_high, sums.raised_low),
    };
  return tallies;
}

/**
 * The numbers of the source's rows. They come from its part of an index. A cross join then keeps this order on SQLite,
 * whose planner takes one source for all of them and would otherwise read the rows of the others as well.
 */
const rowsOf = (db: Kysely<ReadDatabase>, source: string) =>
  db.selectFrom('investment_rows').select('row_no').where('source_no', '=', listed(db, source)).as('own');

/** Includes superseded versions: an offering that lost all its rows has to be compared too. */
export async function storedOfferings(db: Kysely<ReadDatabase>, source: string): Promise<readonly string[]> {
  const versionsOf = db
    .selectFrom('history_rows')
    .select('history_no')
    .where('source_no', '=', listed(db, source))
    .as('own');
  const rows = await db
    .selectFrom(rowsOf(db, source))
    .crossJoin('investment_rows as r')
    .select('r.offering_id')
    .whereRef('r.row_no', '=', 'own.row_no')
    .union(
      db
        .selectFrom(versionsOf)
        .crossJoin('history_rows as h')
        .select('h.offering_id')
        .whereRef('h.history_no', '=', 'own.history_no'),
    )
    .execute();
  return rows.flatMap(({ offering_id }) => (offering_id === null ? [] : [offering_id])).sort();
}

/**
 * Returns the ids at these positions of the source's rows, newest last. One pass over the source's part of an index, in the
 * order of that index: an offset for each position, or the order of ids, would read the rows of other sources as well.
 */
export async function idsAt(
  db: Kysely<ReadDatabase>,
  source: string,
  places: readonly number[],
): Promise<readonly string[]> {
  if (places.length === 0) return [];
  const placed = db
    .selectFrom('investment_rows')
    .select(['row_no', sql<number>`row_number() OVER (ORDER BY applied_at, row_no) - 1`.as('place')])
    .where('source_no', '=', listed(db, source))
    .as('p');
  const rows = await db
    .selectFrom(placed)
    .crossJoin('investment_rows as r')
    .select(['p.place', 'r.id'])
    .whereRef('r.row_no', '=', 'p.row_no')
    .where('p.place', 'in', places)
    .execute();
  return rows.sort((one, other) => Number(one.place) - Number(other.place)).map(({ id }) => id);
}

/** The number of ids kept in memory at once, where the driver reads in parts. */
const idsPerRead = 10_000;

/** Returns all ids of the source in no order. The connection is busy until the last one. */
export async function* storedIds(db: Kysely<ReadDatabase>, source: string): AsyncIterable<string> {
  const rows = db
    .selectFrom(rowsOf(db, source))
    .crossJoin('investment_rows as r')
    .select('r.id')
    .whereRef('r.row_no', '=', 'own.row_no')
    .stream(idsPerRead);
  for await (const { id } of rows) yield id;
}

export async function storedVersions(
  db: Kysely<ReadDatabase>,
  source: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, HeldVersion>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('investment_rows as r')
    .innerJoin('sources as s', 's.no', 'r.source_no')
    .leftJoin('identity_rows as i', 'i.row_no', 'r.row_no')
    .select(['r.id', 'i.row_no as person', ...recordColumns.map((column) => `r.${column}` as const)])
    .select(identityColumns.map((column) => `i.${column} as ${ofPerson(column)}` as const))
    .where('s.name', '=', source)
    .where('s.listed_at', 'is not', null)
    .where('r.id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.id, { identity: personIn(row), investment: recordIn(row) }]));
}

/** Returns whether the source has no change after this one. Reads only later changes, however old its own last one is. */
export async function isUnchangedSince(
  db: Kysely<ReadDatabase>,
  source: string,
  seq: number,
): Promise<boolean> {
  return (await laterChange(db, source, seq).executeTakeFirst()) === undefined;
}

/** Returns whether no company, round or post of the source has a change after this one. */
export async function isCatalogUnchangedSince(
  db: Kysely<ReadDatabase>,
  source: string,
  seq: number,
): Promise<boolean> {
  const later = laterChange(db, source, seq).where('about', 'is not', null);
  return (await later.executeTakeFirst()) === undefined;
}

const laterChange = (db: Kysely<ReadDatabase>, source: string, seq: number) =>
  db
    .selectFrom('change_rows')
    .select('seq')
    .where('source_no', '=', (sub) => sub.selectFrom('sources').select('no').where('name', '=', source))
    .where('seq', '>', seq)
    .limit(1);

export async function idsChangedSince(
  db: Kysely<ReadDatabase>,
  source: string,
  seq: number,
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('changes')
    .select('id')
    .where('source', '=', source)
    .where('seq', '>', seq)
    .execute();
  return new Set(rows.flatMap(({ id }) => (id === null ? [] : [id])));
}

export async function forgottenIds(db: Kysely<ReadDatabase>): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom('forgotten').select('id').execute();
  return new Set(rows.map(({ id }) => id));
}
