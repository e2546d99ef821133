import pg from 'pg';
import { Fault } from '../../../domain/fault.js';
import type { Instant } from '../../../domain/instant.js';
import { type AsOfDialect, asOfViews, hasPast, presentOnly, type TotalsView } from '../../as-of-views.js';
import { notValid, typedHasNoPast } from '../../query-refusals.js';
import { type SourceReach, sourcesYoungerThan, type YoungerSource } from '../../reads/as-of-reach.js';
import { reachOf } from './query-reach.js';
import { explaining } from './query-without-audit.js';
import { analyticsSchemaOf } from './schema-names.js';

/** SQLSTATE of rosterd's own error for a relation without a past; its message is the relation. */
export const presentOnlyCode = 'RM003';

/**
 * Hides the public views behind temporary ones that show the mirror as it was at `at`, and those without a past behind
 * ones that fail. Returns the sources that the mirror did not have yet. Throws `usage` when the history does not reach
 * back to `at`, when the server cannot create temporary views, and for a statement that reads a typed view: its name has
 * a schema, so nothing can hide it.
 *
 * PostgreSQL looks for a plain name in the temporary schema first. A view has the rights of its owner, which is the role
 * that runs the statement: `rosterd_analyst` while names are masked. So no view can read more than that role could. The
 * transaction has to be able to write, and the caller makes it read-only afterwards; everything is rolled back with it.
 */
export async function readAsOf(
  client: pg.Client,
  at: Instant,
  statement: string,
): Promise<readonly YoungerSource[]> {
  const schema = await schemaOfMirror(client);
  const stored = (relation: string) => `${pg.escapeIdentifier(schema)}.${relation}`;
  const { rows } = await client.query<SourceReach>(
    `SELECT name, listed_at, history_from FROM ${stored('sources')}`,
  );
  const younger = sourcesYoungerThan(at, rows);
  const dialect: AsOfDialect = {
    stored,
    past: (relation) => `pg_temp.${relation}`,
    textIn: (json, name) => `(CAST(${json} AS json) ->> '${name}')`,
    totals: (view, from) => totals[view](from),
  };
  const views = asOfViews(dialect, at).map(({ name, select }) => `CREATE TEMP VIEW ${name} AS ${select}`);
  const refused = presentOnly.map(
    (name) =>
      `CREATE TEMP VIEW ${name} AS SELECT * FROM ${stored(name)} WHERE pg_temp.rosterd_present_only('${name}')`,
  );
  try {
    await client.query([refuse, ...views, ...refused].join(';\n'));
  } catch (error) {
    throw cannotCreate(error);
  }
  await requireNoTypedView(client, statement, schema);
  return younger;
}

async function requireNoTypedView(client: pg.Client, statement: string, schema: string): Promise<void> {
  const analytics = analyticsSchemaOf(schema);
  const reach = await reachOf(client, statement.replace(explaining, ''), analytics);
  // A statement that is wrong fails with its own error later.
  if (reach instanceof Error || reach.typed === null) return;
  const { typed } = reach;
  throw typedHasNoPast(`${analytics}.${typed}`, typed, hasPast(typed) ? null : `${schema}.${typed}`);
}

/** Returns the schema of the mirror's tables, which need not be the first one of the search_path. */
async function schemaOfMirror(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ schema: string }>(
    `SELECT n.nspname::text AS schema FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = to_regclass('sources')`,
  );
  const [row] = rows;
  if (row === undefined) throw notValid('relation "sources" does not exist');
  return row.schema;
}

/** Immutable, so that the planner calls it: a statement fails before it reads a row, also of an empty table. */
const refuse = `
  CREATE FUNCTION pg_temp.rosterd_present_only(relation text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
  BEGIN
    RAISE EXCEPTION USING ERRCODE = '${presentOnlyCode}', MESSAGE = relation;
  END
  $$`;

function cannotCreate(error: unknown): unknown {
  const { code, message } = error as { readonly code?: unknown; readonly message?: string };
  if (code !== '42501') return error;
  return new Fault('usage', `the server cannot show a past state: ${message}`, {
    hint: 'It takes the right to create temporary views: GRANT TEMPORARY ON DATABASE.',
  });
}

/** A sum of bigint is numeric here. The limit and its marks are those of the stored views. */
const sum = (column: string) =>
  `coalesce(CASE WHEN abs(sum(${column})) >= 9223372036000000000
     THEN (sign(sum(${column})) * 9223372036854775807)::bigint ELSE sum(${column})::bigint END, 0) AS ${column}`;

const exact = (columns: readonly string[]) =>
  `CASE WHEN ${columns.map((column) => `abs(sum(${column})) >= 9223372036000000000`).join(' OR ')}
     THEN '{' || ${columns.map((column) => `'"${column}":"' || coalesce(sum(${column}), 0) || '"'`).join(" || ',' || ")} || '}'
   END COLLATE "C" AS exact_cents`;

const summed = (columns: readonly string[], more: readonly string[] = []) =>
  ['count(*) AS investments', ...columns.map(sum), ...more, exact(columns)].join(', ');

const [committed, escrow, raised] = ['committed_cents', 'in_escrow_cents', 'raised_cents'];

const totals: Readonly<Record<TotalsView, (from: string) => string>> = {
  round_totals: (from) =>
    `SELECT source, company_id, offering_id, status, currency, ${summed([committed, escrow, raised])}
     FROM ${from} GROUP BY source, company_id, offering_id, status, currency`,
  daily_raised: (from) =>
    `SELECT source, company_id, substr(applied_at, 1, 10) AS day, currency, ${summed([committed, raised])}
     FROM ${from} GROUP BY source, company_id, substr(applied_at, 1, 10), currency`,
  investor_totals: (from) =>
    `SELECT source, investor_id, currency, ${summed(
      [committed, raised],
      ['min(applied_at) AS first_applied_at', 'max(applied_at) AS last_applied_at'],
    )}
     FROM ${from} WHERE investor_id IS NOT NULL GROUP BY source, investor_id, currency`,
};
