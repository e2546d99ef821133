import type { AliasedRawBuilder, Expression, Kysely, SqlBool } from 'kysely';
import type { RosterOrder, RosterPosition, RosterRow, RosterWanted } from '../../../console/ports/roster.js';
import type { Instant } from '../../../domain/instant.js';
import { sql } from '../../query-builder.js';
import { investmentsAsOf, rosterAsOf, versionsAt } from '../as-of.js';
import { columnsBeforeNames, investmentColumns, personColumns, rosterColumns } from '../columns.js';
import { cellsOf, isHidden, kindOf } from '../export-rows.js';
import { namesOf, withNames } from '../names.js';
import type { ReadDatabase, RosterView } from '../views.js';
import { type FoundFilter, holds } from './find-people.js';
import { roundsWithStatus } from './kept-sums.js';
import { rosterOfSource } from './roster-of-source.js';

type Db = Kysely<ReadDatabase>;
type Wanted = RosterWanted & { readonly filter: FoundFilter };

const columns = [
  ...(['source', 'id', 'company_id', 'offering_id', 'investor_id', 'status', 'applied_at'] as const),
  ...(['observed_at', 'currency', 'committed_cents', 'raised_cents'] as const),
] as const;
const nameColumns = ['company_name', 'round_name'] as const;

/**
 * Returns one page after `after`. Rows with a null in the ordered column come last in either direction. The two
 * databases sort nulls differently, so rows with and without a value are read separately.
 */
export async function rosterPage(db: Db, wanted: Wanted): Promise<RosterRow[]> {
  const { after, rowsMax, asOf } = wanted;
  const valued = after !== null && after.value === null ? [] : await part(db, wanted, true, rowsMax);
  const missing = rowsMax - valued.length;
  const rows = missing <= 0 ? valued : [...valued, ...(await part(db, wanted, false, missing))];
  return asOf === undefined ? rows : withNames(rows, await namesOf(db, { at: asOf, of: rows }));
}

async function part(db: Db, wanted: Wanted, valued: boolean, rowsMax: number): Promise<RosterRow[]> {
  const { order, descending, after } = wanted;
  let query = filtered(db, wanted).where(order, valued ? 'is not' : 'is', null);
  if (after !== null && (after.value === null) === !valued)
    query = query.where(behind(order, descending, after));
  // There are no nulls here; the clause matches the index of all sources, and its absence that of one source.
  if (valued)
    query = query.orderBy(order, (by) => {
      if (wanted.filter.source !== undefined) return descending ? by.desc() : by.asc();
      return descending ? by.desc().nullsLast() : by.asc().nullsFirst();
    });
  // Not the column itself: rows without a value may be few, and SQLite would look for them in the index of all sources.
  const byId = valued || wanted.filter.source === undefined ? sql.ref('id') : sql`${sql.ref('id')} || ''`;
  const rows = await query.orderBy(byId).orderBy('source').limit(rowsMax).execute();
  return rows.map((row) => ({
    ...{ ...row, company_name: row.company_name ?? null, round_name: row.round_name ?? null },
    ...{ name: row.name ?? null, email: row.email ?? null },
  }));
}

function behind(order: RosterOrder, descending: boolean, { value, id, source }: RosterPosition) {
  const column = sql.ref(order);
  const next = sql<SqlBool>`(id > ${id} OR (id = ${id} AND source > ${source}))`;
  if (value === null) return next;
  const beyond = descending ? sql<SqlBool>`${column} < ${value}` : sql<SqlBool>`${column} > ${value}`;
  // Redundant, so that an index on the ordered column can start there.
  const notBefore = descending ? sql<SqlBool>`${column} <= ${value}` : sql<SqlBool>`${column} >= ${value}`;
  return sql<SqlBool>`(${notBefore} AND (${beyond} OR ${next}))`;
}

function filtered(db: Db, { filter, identity, asOf, order }: Wanted) {
  return narrowed(db, pageRelation(filter, identity, asOf, order === 'applied_at'), filter, asOf)
    .select(columns)
    .$if(asOf === undefined, (query) => query.select(nameColumns))
    .$if(identity, (query) => query.select(['name', 'email']));
}

function narrowed(
  db: Db,
  relation: AliasedRawBuilder<RosterView, 'r'>,
  filter: FoundFilter,
  asOf: Instant | undefined,
) {
  let query = db.selectFrom(relation);
  if (filter.source !== undefined) query = query.where('source', '=', filter.source);
  if (filter.company !== undefined) query = query.where('company_id', '=', filter.company);
  if (filter.round !== undefined) query = query.where('offering_id', '=', filter.round);
  if (filter.status !== undefined) query = query.where('status', '=', filter.status);
  if (filter.id !== undefined) query = query.where(startsWith(filter.id));
  if (filter.ids !== undefined) query = query.where(isOneOf(filter.ids));
  if (filter.named !== undefined) {
    const { named } = filter;
    query = query.where(({ or }) => or(holdsName(db, named, asOf)));
  }
  if (filter.person !== undefined) {
    const { person, onlyPeople } = filter;
    query = query.where(({ or }) =>
      or([
        ...ofPeople.map((column) => holds(column, person)),
        ...(onlyPeople === true ? [] : holdsName(db, person, asOf)),
      ]),
    );
  }
  return query;
}

const ofPeople = ['name', 'legal_name', 'email'];

const isOneOf = (ids: readonly string[]) =>
  ids.length === 0 ? sql<SqlBool>`1 = 0` : sql<SqlBool>`id IN (${sql.join(ids)})`;

/**
 * Whether the company or the round of a row has the text in its name, of now or of then. They are looked for once: the name
 * columns of the view would be looked up and compared for each row.
 */
function holdsName(db: Db, text: string, asOf: Instant | undefined): Expression<SqlBool>[] {
  const found = (view: 'companies' | 'rounds') =>
    db
      .selectFrom(versionsAt(view, ['source', 'id', 'name'], asOf, 'n'))
      .select(['n.source', 'n.id'])
      .where(holds('n.name', text));
  return [
    sql<SqlBool>`(source, company_id) IN (${found('companies')})`,
    sql<SqlBool>`(source, offering_id) IN (${found('rounds')})`,
  ];
}

/** What pages and their counts are read from. */
function pageRelation(filter: FoundFilter, identity: boolean, asOf: Instant | undefined, isByTime: boolean) {
  return asOf === undefined && filter.source !== undefined
    ? (rosterOfSource(filter.source, isByTime) as AliasedRawBuilder<RosterView, 'r'>)
    : wholeRelation(filter, identity, asOf);
}

const wholeRelation = (filter: FoundFilter, identity: boolean, asOf?: Instant) =>
  relationOf(identity || filter.person !== undefined ? 'roster' : 'investments', asOf);

/** A past relation lacks the names of companies and rounds: see `namesOf`. */
function relationOf(relation: 'roster' | 'investments', asOf?: Instant): AliasedRawBuilder<RosterView, 'r'> {
  if (asOf === undefined) return sql<RosterView>`${sql.table(relation)}`.as<'r'>(sql.ref('r'));
  const past = relation === 'roster' ? rosterAsOf(asOf, 'r') : investmentsAsOf(asOf, 'r');
  return past as AliasedRawBuilder<RosterView, 'r'>;
}

const columnOfPrefix: readonly (readonly [string, string])[] = [
  ['usr_', 'investor_id'],
  ['ofr_', 'offering_id'],
  ['co_', 'company_id'],
];

/** Longer beginnings of an id name few records, which are then found by an index. */
const shortBeginning = 12;

function startsWith(text: string) {
  const column = columnOfPrefix.find(([prefix]) => text.startsWith(prefix))?.[1] ?? 'id';
  if (text.length <= shortBeginning)
    return sql<SqlBool>`substr(${sql.ref(column)}, 1, ${text.length}) = ${text}`;
  // Both databases compare ids byte by byte, and no character is greater than the last one of Unicode.
  const after = `${text}\u{10FFFF}`;
  return sql<SqlBool>`(${sql.ref(column)} >= ${text} AND ${sql.ref(column)} < ${after})`;
}

/** Returns how many rows match the filter, counted up to `max`. */
export async function rosterCount(db: Db, filter: FoundFilter, max: number, asOf?: Instant): Promise<number> {
  const { count } = await db
    .selectFrom(
      narrowed(db, pageRelation(filter, false, asOf, false), filter, asOf)
        .select('id')
        .limit(max)
        .as('n'),
    )
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Returns the choices of the filter: each source with its statuses and rounds. */
export async function rosterChoices(db: Db, asOf?: Instant) {
  const rows =
    asOf === undefined
      ? (roundsWithStatus(db) as AliasedRawBuilder<RosterView, 'r'>)
      : relationOf('investments', asOf);
  const choices = await db
    .selectFrom(rows)
    .select(['source', 'company_id', 'offering_id', 'status'])
    .distinct()
    .orderBy('source')
    .orderBy('offering_id')
    .orderBy('status')
    .execute();
  return withNames(choices, await namesOf(db, { at: asOf, of: choices }));
}

/** Returns every column of the matching rows as a stream from one snapshot, for a file. */
export function rosterRows(db: Db, filter: FoundFilter, identity: boolean, asOf?: Instant) {
  const names: readonly string[] = identity ? rosterColumns : investmentColumns;
  return {
    columns: names.map((name) => ({ name, kind: kindOf(name) })),
    async *rows() {
      const cellOf = await cellsOf(db, { asOf, source: filter.source });
      const query = narrowed(db, wholeRelation(filter, identity, asOf), filter, asOf)
        .select(columnsBeforeNames)
        .$if(identity, (all) => all.select(personColumns));
      for await (const row of query.orderBy('id').orderBy('source').stream()) {
        const cells = row as Readonly<Record<string, string | number | null>>;
        yield names.map((name) => (isHidden(name, identity) ? null : cellOf(cells, name)));
      }
    },
  };
}
