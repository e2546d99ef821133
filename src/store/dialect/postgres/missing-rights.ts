import { Fault, isFault } from '../../../domain/fault.js';
import { sqlName } from '../../../domain/sql-name.js';
import { withPostgresFaults } from './faults.js';
import { vaultSchemaOf } from './schema-names.js';

/** The part of an open database that is needed to ask for rights. */
interface Asked {
  readonly pool: { query<Row>(text: string, values: readonly unknown[]): Promise<{ readonly rows: Row[] }> };
  readonly url: string;
  readonly schema: string;
  readonly identitySchema: string;
}

/** Rights that the login lacks on some objects. */
export interface MissingRight {
  /** Such as `INSERT on leases, budgets`. */
  readonly what: string;
  readonly objects: readonly string[];
  /** The statement that gives them, for the login itself or an administrator. */
  readonly statement: string;
}

/**
 * Returns the rights on tables, views and schemas of the mirror that the login lacks although it owns the mirror. None for a
 * login that only reads: it should not have them. `named` is a table that counts also if another login owns it now.
 */
export async function missingRights(
  { pool, schema, identitySchema }: Omit<Asked, 'url'>,
  named: string | null = null,
): Promise<readonly MissingRight[]> {
  const schemas = [schema, identitySchema, vaultSchemaOf(schema)];
  const { rows } = await pool.query<Missing>(missing, [schemas, schema, writtenViews, named]);
  return rows.map(({ kind, rights, objects, login }) => {
    const on = `${kind === 'schema' ? 'SCHEMA ' : ''}${objects.join(', ')}`;
    const to = sqlName(login);
    return {
      what: `${rights} on ${on}`,
      objects,
      statement:
        kind === 'foreign' ? `ALTER TABLE ${on} OWNER TO ${to}` : `GRANT ${rights} ON ${on} TO ${to}`,
    };
  });
}

/**
 * `withPostgresFaults` for work on a mirror. What an administrator put in its way is named, with the statement that ends it: a right
 * that the login lost, or a constraint.
 */
export async function withNamedRights<Result>(database: Asked, work: () => Promise<Result>): Promise<Result> {
  try {
    return await withPostgresFaults(database.url, work);
  } catch (error) {
    if (isRefusedRow(error)) {
      const { foreignConstraint } = await import('./foreign-constraint.js');
      throw foreignConstraint(error, database.url) ?? error;
    }
    throw await namingRights(database, error);
  }
}

/** SQLSTATE class 23 is "integrity constraint violation". */
const isRefusedRow = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('23');

/**
 * The server names one object without its schema, and says that a table does not exist where the login may not use its
 * schema. So the catalog is asked. Returns any other error unchanged.
 */
async function namingRights(database: Asked, error: unknown): Promise<unknown> {
  if (!isFault(error, 'database_unusable')) return error;
  const { cause } = error.about;
  if (!(cause instanceof Error && 'code' in cause && aboutRights.has(cause.code))) return error;
  const [, named = null] = /^permission denied for table "?(\w+)"?$/.exec(cause.message) ?? [];
  return (await lostRights(database, named, cause)) ?? error;
}

/** Returns the fault for the rights that the login lost on its mirror; null if it lost none, or the server does not say it. */
export async function lostRights(
  database: Asked,
  named: string | null = null,
  cause?: Error & { readonly code?: unknown },
): Promise<Fault | null> {
  const rights = await missingRights(database, named).catch(() => []);
  if (rights.length === 0) return null;
  const code = cause === undefined ? '' : ` (${cause.code})`;
  const objects = rights.flatMap((right) => right.objects);
  const isMuch = objects.length > namedMax;
  const what = isMuch
    ? `rights on ${objects.slice(0, namedMax).join(', ')} and ${objects.length - namedMax} more`
    : rights.map((right) => right.what).join('; ');
  const statements = isMuch
    ? 'run the statements that `rosterd doctor` lists'
    : rights.map(({ statement }) => statement).join('; ');
  return new Fault(
    'database_unusable',
    `${database.url} does not let this login use its own mirror: it lacks ${what}${code}`,
    { hint: `As this login or an administrator: ${statements}. A daemon then goes on by itself.`, cause },
  );
}

/** Each source and each part of a daemon reports it. */
const namedMax = 8;

/** insufficient_privilege, undefined_table and invalid_schema_name. */
const aboutRights: ReadonlySet<unknown> = new Set(['42501', '42P01', '3F000']);

interface Missing {
  /** `foreign`: a table of the mirror that another login owns. */
  readonly kind: 'schema' | 'table' | 'foreign';
  readonly rights: string;
  readonly objects: readonly string[];
  readonly login: string;
}

/** Views of the tables that can contain names. The mirror is written through them; all others are only read. */
const writtenViews = ['identity_rows', 'staged_rows', 'quarantine_rows', 'webhook_inbox'];

/** The login owns the mirror if it owns one of its views: a table may be given to another login by mistake. */
const missing = `
  WITH mirror AS (
    SELECT c.oid, c.relname, c.relkind, pg_has_role(c.relowner, 'USAGE') AS owned,
      CASE WHEN n.nspname = $2 THEN quote_ident(c.relname) ELSE format('%I.%I', n.nspname, c.relname) END AS object,
      CASE WHEN c.relkind = 'v' AND NOT c.relname = ANY ($3) THEN '{SELECT}' ELSE '{SELECT,INSERT,UPDATE,DELETE}' END::text[] AS needed
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p', 'v')
  ), lacking AS (
    SELECT 'schema' AS kind, 'USAGE' AS rights, quote_ident(nspname) AS object
    FROM pg_namespace WHERE nspname = ANY ($1) AND NOT has_schema_privilege(oid, 'USAGE')
    UNION ALL
    SELECT CASE WHEN owned THEN 'table' ELSE 'foreign' END,
      (SELECT string_agg(one, ', ' ORDER BY at) FROM unnest(needed) WITH ORDINALITY AS u (one, at)
       WHERE NOT has_table_privilege(oid, one)), object
    FROM mirror WHERE owned OR relname = $4
  )
  SELECT kind, rights, array_agg(object ORDER BY object) AS objects, current_user::text AS login
  FROM lacking
  WHERE rights IS NOT NULL AND EXISTS (SELECT FROM mirror WHERE relname IN ('investments', 'sync_status') AND owned)
  GROUP BY kind, rights, CASE WHEN kind = 'foreign' THEN object END
  ORDER BY kind, objects`;
