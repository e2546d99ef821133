import type { AliasedRawBuilder, Kysely } from 'kysely';
import type { Instant } from '../../domain/instant.js';
import type { ColumnEntry, ColumnType } from '../dictionary/column.js';
import { publicRelations } from '../dictionary/relations.js';
import { sql } from '../query-builder.js';
import { investmentsAsOf, rosterAsOf } from './as-of.js';
import { columnsBeforeNames, investmentColumns, personColumns, rosterColumns } from './columns.js';
import { namesOf } from './names.js';
import type { ReadDatabase } from './views.js';

export interface ExportWanted {
  readonly source?: string;
  readonly company?: string;
  /**
   * The versions current at this time, with the names that companies and rounds had then. It has to be within the history:
   * see `youngerSources`. Identity has no history: it is the one stored now.
   */
  readonly asOf?: Instant;
  readonly identity: boolean;
  /** `id` needs no sort; `newest` is by `applied_at`, latest first. */
  readonly order: 'id' | 'newest';
}

type ExportKind = 'text' | 'number' | 'flag' | 'time' | 'decimal' | 'json';
type ExportCell = null | string | number | bigint;

export interface ExportRows {
  readonly columns: readonly {
    readonly name: string;
    readonly kind: ExportKind;
  }[];
  rows(): AsyncIterable<readonly ExportCell[]>;
}

/**
 * Returns investments as a stream from one snapshot. Needs a dedicated read-only connection: it is busy until the
 * stream ends, and SQLite cannot shorten its write-ahead log meanwhile.
 */
export function exportRows(db: Kysely<ReadDatabase>, wanted: ExportWanted): ExportRows {
  const names: readonly string[] = wanted.identity ? rosterColumns : investmentColumns;
  return {
    columns: names.map((name) => ({ name, kind: kindOf(name) })),
    async *rows() {
      const cellOf = await cellsOf(db, wanted);
      for await (const row of exportQuery(db, wanted).stream(rowsPerFetch))
        yield names.map((name) => (isHidden(name, wanted.identity) ? null : cellOf(row, name)));
    },
  };
}

/**
 * Returns all rows of a public table or view as a stream. Without identity, unknown fields are left out, also of the
 * values that `changes` has of them. `from` is a source to limit them to. Throws for a relation that is not public.
 */
export function tableRows(
  db: Kysely<ReadDatabase>,
  table: string,
  { identity, from }: { readonly identity: boolean; readonly from?: string | undefined },
): ExportRows {
  const columns = columnsIn(table);
  const wide = columns.filter(({ name }) => isSum(table, name));
  const hides = !identity && aboutPeople.has(table);
  return {
    columns,
    async *rows() {
      const all = db
        .selectFrom(sql<ExportRow>`${sql.table(table)}`.as<'t'>(sql.ref('t')))
        .selectAll('t')
        .select(
          wide.map(({ name }) =>
            sql<ExportCell>`CAST(${sql.ref(`t.${name}`)} AS text)`.as(`${name}${asText}`),
          ),
        );
      const query = from === undefined ? all : all.where('t.source', '=', from);
      for await (const row of query.stream(rowsPerFetch))
        yield columns.map(({ name }) => {
          const digits = row[`${name}${asText}`] ?? null;
          const cell = digits === null ? (row[name] ?? null) : BigInt(digits);
          return hides ? withoutUnknownFields(name, cell) : cell;
        });
    },
  };
}

/**
 * Amounts of one investment are below 2^53, as JavaScript numbers are exact. Their sums may be larger: the drivers would round
 * them, or return them as text.
 */
const isSum = (table: string, column: string): boolean =>
  sums.has(table) && column.endsWith('_cents') && column !== 'exact_cents';
const sums: ReadonlySet<string> = new Set(['round_totals', 'daily_raised', 'investor_totals']);
const asText = ' as text';

/** Relations whose unknown fields came with an investment. Those of companies and rounds are not personal. */
const aboutPeople: ReadonlySet<string> = new Set(['investments', 'investment_history', 'changes', 'roster']);

function withoutUnknownFields(name: string, cell: ExportCell): ExportCell {
  if (name === 'extra' || cell === null) return null;
  return name === 'before' || name === 'after' ? withoutExtra(String(cell)) : cell;
}

function withoutExtra(values: string): string {
  if (!values.includes('"extra"')) return values;
  const { extra: _, ...others } = JSON.parse(values) as Record<string, ExportCell>;
  return JSON.stringify(others);
}

/** Unknown fields may contain personal data. The column stays, so that files keep their shape. */
export const isHidden = (name: string, identity: boolean): boolean => name === 'extra' && !identity;

/** The rows of a PostgreSQL result kept in memory; SQLite reads row by row. */
const rowsPerFetch = 1_000;

type ExportRow = Record<string, ExportCell>;

export function exportQuery(db: Kysely<ReadDatabase>, wanted: ExportWanted) {
  // Without the names of companies and rounds: see `cellsOf`.
  const columns = wanted.identity ? [...columnsBeforeNames, ...personColumns] : columnsBeforeNames;
  let query = db.selectFrom(relation(wanted)).select(columns.map((name) => `i.${name}` as const));
  if (wanted.source !== undefined) query = query.where('i.source', '=', wanted.source);
  if (wanted.company !== undefined) query = query.where('i.company_id', '=', wanted.company);
  return wanted.order === 'newest'
    ? query
        .orderBy('i.applied_at', (order) => order.desc().nullsLast())
        .orderBy('i.id')
        .orderBy('i.source')
    : query.orderBy('i.id').orderBy('i.source');
}

function relation({ asOf, identity }: ExportWanted): AliasedRawBuilder<ExportRow, 'i'> {
  if (asOf === undefined)
    return sql<ExportRow>`${sql.table(identity ? 'roster' : 'investments')}`.as<'i'>(sql.ref('i'));
  const past = identity ? rosterAsOf(asOf, 'i') : investmentsAsOf(asOf, 'i');
  return past as AliasedRawBuilder<unknown, 'i'> as AliasedRawBuilder<ExportRow, 'i'>;
}

/**
 * Returns what a cell of a row contains: the names of its company and round, and the columns of the row themselves. The
 * names are read once, because the views look up two of them for each row.
 */
export async function cellsOf(
  db: Kysely<ReadDatabase>,
  { asOf, source }: { readonly asOf?: Instant | undefined; readonly source?: string | undefined },
): Promise<(row: ExportRow, name: string) => ExportCell> {
  const names = await namesOf(db, { at: asOf, source });
  const text = (cell: ExportCell | undefined) => (cell === null || cell === undefined ? null : String(cell));
  return (row, name) => {
    if (name === 'company_name') return names.company(String(row.source), text(row.company_id));
    if (name === 'round_name') return names.round(String(row.source), text(row.offering_id));
    return row[name] ?? null;
  };
}

const kinds: Readonly<Record<ColumnType, ExportKind>> = {
  text: 'text',
  time: 'time',
  day: 'text',
  json: 'json',
  decimal: 'decimal',
  integer: 'number',
  cents: 'number',
  flag: 'flag',
};

const roster: readonly ColumnEntry[] = publicRelations.find(({ name }) => name === 'roster')?.columns ?? [];

/** Returns the columns of a public table or view, in its order. Throws for an unknown one. */
export function columnsIn(name: string): ExportRows['columns'] {
  const relation = publicRelations.find((one) => one.name === name);
  if (relation === undefined) throw new Error(`${name} is not a public table or view`);
  return relation.columns.map((column) => ({ name: column.name, kind: kinds[column.type] }));
}

/** Returns the kind of value in a column of the roster. Throws for an unknown column. */
export function kindOf(name: string): ExportKind {
  const entry = roster.find((column) => column.name === name);
  if (entry === undefined) throw new Error(`${name} is not a column of the roster`);
  return kinds[entry.type];
}
