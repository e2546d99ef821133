import { type Kysely, sql } from 'kysely';
import type { Identity, Investment } from '../../domain/investment.js';
import { identityColumns, ofPerson, recordColumns } from '../record-columns.js';
import { personIn, recordIn } from '../stored-record.js';
import type { ReadDatabase } from './views.js';

/*
 * Reads of one source for comparing it with the platform. Each result that must be consistent comes from one statement.
 */

export interface StoredTally {
  readonly count: number;
  readonly committed_cents: number;
  readonly raised_cents: number;
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
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('source', '=', source)
    .where('resolved_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Rows missing from the last listing whose deletion a person has to accept. */
const awaiting = (db: Kysely<ReadDatabase>, source: string) =>
  db.selectFrom('awaiting_deletion').select('awaiting_deletion.id').where('source', '=', source);

export async function idsAwaitingDeletion(
  db: Kysely<ReadDatabase>,
  source: string,
): Promise<ReadonlySet<string>> {
  return new Set((await awaiting(db, source).execute()).map(({ id }) => id));
}

const sumOf = (cents: 'committed_cents' | 'raised_cents') =>
  sql<number>`coalesce(sum(CAST(${sql.ref(cents)} AS double precision)), 0)`;

/**
 * Returns counts and sums by offering, then by status. Rows that are not visible to founders are left out, as in the
 * platform's statistics, and so are rows that await deletion.
 */
export async function storedTallies(
  db: Kysely<ReadDatabase>,
  source: string,
): Promise<Readonly<Record<string, Readonly<Record<string, StoredTally>>>>> {
  const rows = await db
    .selectFrom('investments')
    .select(({ fn }) => [
      'offering_id',
      'status',
      fn.countAll<number>().as('count'),
      // Exact within 2^53, as the platform's sums are. An integer sum that overflows is an error in SQLite.
      sumOf('committed_cents').as('committed_cents'),
      sumOf('raised_cents').as('raised_cents'),
    ])
    .where('source', '=', source)
    .where('visible', '=', 1)
    .where('offering_id', 'is not', null)
    .where('id', 'not in', awaiting(db, source))
    .groupBy(['offering_id', 'status'])
    .execute();
  const tallies: Record<string, Record<string, StoredTally>> = Object.create(null);
  for (const { offering_id, status, ...tally } of rows) {
    const key = offering_id ?? '';
    tallies[key] = { ...tallies[key], [status]: tally };
  }
  return tallies;
}

/** Includes superseded versions: an offering that lost all its rows has to be compared too. */
export async function storedOfferings(db: Kysely<ReadDatabase>, source: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('investments')
    .select('offering_id')
    .where('source', '=', source)
    .union(db.selectFrom('investment_history').select('offering_id').where('source', '=', source))
    .orderBy('offering_id')
    .execute();
  return rows.flatMap(({ offering_id }) => (offering_id === null ? [] : [offering_id]));
}

export async function idsAt(
  db: Kysely<ReadDatabase>,
  source: string,
  places: readonly number[],
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const place of places) {
    const row = await db
      .selectFrom('investments')
      .select('id')
      .where('source', '=', source)
      .orderBy('id')
      .limit(1)
      .offset(place)
      .executeTakeFirst();
    if (row !== undefined) ids.push(row.id);
  }
  return ids;
}

/** The number of ids kept in memory at once. */
const idsPerRead = 10_000;

export async function* storedIds(db: Kysely<ReadDatabase>, source: string): AsyncIterable<string> {
  let after = '';
  for (;;) {
    const rows = await db
      .selectFrom('investments')
      .select('id')
      .where('source', '=', source)
      .where('id', '>', after)
      .orderBy('id')
      .limit(idsPerRead)
      .execute();
    for (const { id } of rows) yield id;
    after = rows.at(-1)?.id ?? '';
    if (rows.length < idsPerRead) return;
  }
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

/** Returns the number of the source's newest change; 0 before the first. */
export async function newestChange(db: Kysely<ReadDatabase>, source: string): Promise<number> {
  const row = await db
    .selectFrom('change_rows')
    .select('seq')
    // A subquery on the source number, so that the index reads only this source's changes, from their end.
    .where('source_no', '=', (sub) => sub.selectFrom('sources').select('no').where('name', '=', source))
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.seq ?? 0;
}

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
