import { createHash } from 'node:crypto';
import pg from 'pg';
import { Fault } from '../../../domain/fault.js';
import type { ColumnEntry } from '../../dictionary/column.js';
import { dictionaryRows, plain } from '../../dictionary/data-dictionary.js';
import { identityTables, innerRelations, vaultRelations } from '../../dictionary/inner-relations.js';
import { publicRelations } from '../../dictionary/relations.js';
import { moneyName, type TypedView, typedViews } from '../../dictionary/typed-views.js';
import type { PostgresDatabase } from './open.js';
import { readerRoles } from './roles.js';
import { analyticsSchemaOf, vaultSchemaOf } from './schema-names.js';
import type { Transaction } from './transaction.js';

const [analyst, withNames] = readerRoles;
const id = pg.escapeIdentifier;

/** Whether the schema of the typed views is ours, free, someone else's, or may not be created. */
type AnalyticsState = 'ours' | 'free' | 'taken' | 'forbidden';

/**
 * Fills `data_dictionary`, comments every table, view and column with its meaning, also in the schemas of identity and of the
 * vault, and creates the typed views in the schema `analytics`. Writes only what differs from what is there. Returns why there are no typed views, or null.
 */
export async function describePostgres(
  transaction: Transaction,
  database: PostgresDatabase,
): Promise<string | null> {
  const analytics = analyticsSchemaOf(database.schema);
  const { state, comment, roles } = await lookAt(transaction, database.schema);
  const mark = markOf(database.schema, roles);
  if (state === 'ours' && comment === mark) return null;
  await fillDictionary(transaction);
  const commented = [...commentedIn(database), ...commentedInVault(database)];
  const missing = await missingComments(transaction, database, commented);
  if (missing.length > 0) await transaction.run(missing.join(';\n'));
  if (state === 'taken')
    return `the schema ${analytics} exists and was not made by rosterd; rename it to get the typed views`;
  if (state === 'forbidden')
    return `this login may not create the schema ${analytics} with the typed views: GRANT CREATE ON DATABASE`;
  await dropTypedViews(transaction, database);
  await transaction.run(`CREATE SCHEMA IF NOT EXISTS ${id(analytics)}`);
  await transaction.run(
    [
      ...typedViews.map((view) => viewSql(view, analytics)),
      ...typedViews.flatMap((view) => viewComments(view, analytics)),
      ...grants(analytics, roles),
      `COMMENT ON SCHEMA ${id(analytics)} IS ${pg.escapeLiteral(mark)}`,
    ].join(';\n'),
  );
  return null;
}

/**
 * Drops the typed views, because a migration cannot change a view that they select from. They are created again in the
 * same transaction.
 */
export async function dropTypedViews(transaction: Transaction, { schema }: PostgresDatabase): Promise<void> {
  const { state } = await lookAt(transaction, schema);
  if (state !== 'ours') return;
  const analytics = analyticsSchemaOf(schema);
  const views = await transaction.rows<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relkind = 'v' AND c.relnamespace = $1::regnamespace
       AND c.relname = ANY ($2)`,
    id(analytics),
    [...typedViews.map(({ name }) => name)],
  );
  const [dependent] = await transaction.rows<{ name: string }>(
    `SELECT DISTINCT r.ev_class::regclass::text AS name FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
     JOIN pg_class c ON c.oid = d.refobjid
     WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND r.ev_class <> c.oid
       AND c.relnamespace = $1::regnamespace AND c.relname = ANY ($2) ORDER BY 1 LIMIT 1`,
    id(analytics),
    views.map(({ name }) => name),
  );
  if (dependent !== undefined)
    throw new Fault('database_unusable', `the view ${dependent.name} selects from the schema ${analytics}`, {
      hint: `An upgrade creates those views again. Drop ${dependent.name}, start rosterd, and create it again.`,
    });
  for (const { name } of views) await transaction.run(`DROP VIEW ${id(analytics)}.${id(name)}`);
}

interface Found {
  readonly state: AnalyticsState;
  readonly comment: string | null;
  /** The reader roles that exist. */
  readonly roles: readonly string[];
}

async function lookAt(transaction: Transaction, schema: string): Promise<Found> {
  const [found] = await transaction.rows<{
    present: 0 | 1;
    comment: string | null;
    allowed: 0 | 1;
    roles: string;
  }>(
    `SELECT (n.oid IS NOT NULL)::int AS present, obj_description(n.oid, 'pg_namespace') AS comment,
       has_database_privilege(current_database(), 'CREATE')::int AS allowed,
       (SELECT coalesce(json_agg(role ORDER BY role), '[]')::text FROM unnest($2::text[]) AS role
        WHERE to_regrole(role) IS NOT NULL) AS roles
     FROM (SELECT $1::text AS wanted) w LEFT JOIN pg_namespace n ON n.nspname = w.wanted`,
    analyticsSchemaOf(schema),
    readerRoles,
  );
  if (found === undefined) throw new Error('no answer about the schema of the typed views');
  const ours = found.comment?.startsWith(ownMark) === true;
  const state = found.present === 1 ? (ours ? 'ours' : 'taken') : found.allowed === 1 ? 'free' : 'forbidden';
  return { state, comment: found.comment, roles: JSON.parse(found.roles) as string[] };
}

/** Begins the comment of the schema, if rosterd made it. */
export const ownMark = 'Typed views of the mirror, made by rosterd';

/** Identifies what this version creates, so that it is created once. */
function markOf(schema: string, roles: readonly string[]): string {
  const analytics = analyticsSchemaOf(schema);
  const all = [
    dictionaryRows,
    [...comments],
    vaultRelations,
    typedViews.map((view) => viewSql(view, analytics)),
    roles,
  ];
  const digest = createHash('sha256').update(JSON.stringify(all)).digest('hex').slice(0, 16);
  return `${ownMark} (${digest})`;
}

interface Comment {
  /** Null for the relation itself. */
  readonly column: string | null;
  readonly text: string;
}

const internal = (meaning: string): string => `Internal, may change with any version. ${plain(meaning)}`;

const comments: ReadonlyMap<string, readonly Comment[]> = new Map([
  ...Object.entries(innerRelations).map(([name, meaning]): [string, Comment[]] => [
    name,
    [{ column: null, text: internal(meaning) }],
  ]),
  ...publicRelations.map(({ name }): [string, Comment[]] => [
    name,
    dictionaryRows
      .filter(({ relation }) => relation === name)
      .map(({ column_name, meaning, null_when }) => ({
        column: column_name,
        text: null_when === null ? meaning : `${meaning}. Null: ${null_when}`,
      })),
  ]),
]);

/** Replaces the rows of `data_dictionary` that differ. */
async function fillDictionary(transaction: Transaction): Promise<void> {
  const wanted = JSON.stringify(dictionaryRows);
  await transaction.run(
    `DELETE FROM data_dictionary WHERE (relation, position) IN (
       SELECT relation, position FROM (SELECT * FROM data_dictionary EXCEPT ${wantedRows}) AS other)`,
    wanted,
  );
  await transaction.run(
    `INSERT INTO data_dictionary ${wantedRows} EXCEPT SELECT * FROM data_dictionary`,
    wanted,
  );
}

const wantedRows = 'SELECT * FROM json_populate_recordset(NULL::data_dictionary, $1::json)';

/** Comments the tables of a vault that was made after the mirror, as after a restore. */
export async function describeVault(transaction: Transaction, database: PostgresDatabase): Promise<void> {
  const missing = await missingComments(transaction, database, commentedInVault(database));
  if (missing.length > 0) await transaction.run(missing.join(';\n'));
}

interface Commented {
  readonly schema: string;
  readonly name: string;
  readonly comments: readonly Comment[];
}

/** Returns what is commented in the schemas of the mirror and of identity. */
function commentedIn({ schema, identitySchema }: PostgresDatabase): readonly Commented[] {
  return [
    ...[...comments].map(([name, own]) => ({ schema, name, comments: own })),
    ...identityTables.map((name) => ({
      schema: identitySchema,
      name,
      comments: comments.get(name) ?? [],
    })),
  ];
}

const commentedInVault = ({ schema }: PostgresDatabase): readonly Commented[] =>
  Object.entries(vaultRelations).map(([name, meaning]) => ({
    schema: vaultSchemaOf(schema),
    name,
    comments: [{ column: null, text: internal(meaning) }],
  }));

/**
 * Returns the COMMENT statements for those relations of this database whose comment differs. Some internal tables exist
 * on SQLite only, and the tables of the identity schema appear in the mirror's as views. Those of a vault that an
 * administrator gave to a role of its own are left to that role.
 */
async function missingComments(
  transaction: Transaction,
  database: PostgresDatabase,
  wanted: readonly Commented[],
): Promise<string[]> {
  const rows = await transaction.rows<{ at: number; view: 0 | 1; stored: string }>(
    `SELECT w.at::int, (c.relkind = 'v')::int AS view,
       (SELECT coalesce(json_object_agg(coalesce(a.attname::text, ''), d.description), '{}')::text
        FROM pg_description d LEFT JOIN pg_attribute a ON a.attrelid = d.objoid AND a.attnum = d.objsubid AND d.objsubid > 0
        WHERE d.objoid = c.oid AND d.classoid = 'pg_class'::regclass) AS stored
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (schema, name, at)
     JOIN pg_namespace n ON n.nspname = w.schema
     JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
     WHERE w.schema <> $3 OR pg_has_role(c.relowner, 'USAGE')
     ORDER BY w.at`,
    wanted.map(({ schema }) => schema),
    wanted.map(({ name }) => name),
    vaultSchemaOf(database.schema),
  );
  return rows.flatMap(({ at, view, stored }) => {
    const one = wanted[at - 1];
    const present = new Map(Object.entries(JSON.parse(stored) as Record<string, string>));
    return (one?.comments ?? [])
      .filter(({ column, text }) => present.get(column ?? '') !== text)
      .map(({ column, text }) => {
        const relation = `${id(one?.schema ?? '')}.${id(one?.name ?? '')}`;
        const target =
          column === null
            ? `${view === 1 ? 'VIEW' : 'TABLE'} ${relation}`
            : `COLUMN ${relation}.${id(column)}`;
        return `COMMENT ON ${target} IS ${pg.escapeLiteral(text)}`;
      });
  });
}

const viewSql = ({ name, columns }: TypedView, analytics: string): string =>
  `CREATE VIEW ${id(analytics)}.${id(name)} AS SELECT ${columns.flatMap(typed).join(', ')} FROM ${id(name)}`;

/** A column with its type of PostgreSQL, and beside it the stored text or the cents. */
function typed({ name, type }: ColumnEntry): string[] {
  const column = id(name);
  switch (type) {
    case 'time':
      return [`${inYears(column, 'timestamptz')} AS ${column}`, `${column} AS ${id(`${name}_text`)}`];
    case 'day':
      return [`${inYears(column, 'date')} AS ${column}`, `${column} AS ${id(`${name}_text`)}`];
    case 'decimal':
      return [`${column}::numeric AS ${column}`, `${column} AS ${id(`${name}_text`)}`];
    case 'cents':
      return [column, `(${column} * 0.01)::numeric(20, 2) AS ${id(moneyName(name))}`];
    default:
      return [column];
  }
}

/** PostgreSQL writes the year 0000 of ISO 8601 as 0001 BC, and one such time would be an error in every query. */
const inYears = (column: string, type: 'timestamptz' | 'date'): string =>
  `CASE WHEN ${column} LIKE '0000%' THEN ('0001' || substr(${column}, 5) || ' BC')::${type} ELSE ${column}::${type} END`;

function viewComments({ name, columns }: TypedView, analytics: string): string[] {
  const view = `${id(analytics)}.${id(name)}`;
  const about = (column: string, text: string) =>
    `COMMENT ON COLUMN ${view}.${id(column)} IS ${pg.escapeLiteral(plain(text))}`;
  return [
    `COMMENT ON VIEW ${view} IS ${pg.escapeLiteral(`The view ${name} with typed times and amounts`)}`,
    ...columns.flatMap(({ name: column, type, meaning }) => [
      about(column, meaning),
      ...(type === 'cents' ? [about(moneyName(column), `${column} in whole units of the currency`)] : []),
      ...(type === 'time' || type === 'day' || type === 'decimal'
        ? [about(`${column}_text`, `${column} as stored`)]
        : []),
    ]),
  ];
}

/** Views run with the rights of their owner, so a view with names is granted to the role that may read names only. */
function grants(analytics: string, roles: readonly string[]): string[] {
  return roles.flatMap((role) => [
    `GRANT USAGE ON SCHEMA ${id(analytics)} TO ${id(role)}`,
    ...typedViews
      .filter(({ identity }) => !identity || role === withNames)
      .map(({ name }) => `GRANT SELECT ON ${id(analytics)}.${id(name)} TO ${id(role)}`),
    ...(role === analyst || role === withNames ? [`GRANT SELECT ON data_dictionary TO ${id(role)}`] : []),
  ]);
}
