import type pg from 'pg';
import { Fault } from '../../../domain/fault.js';
import { sqlName } from '../../../domain/sql-name.js';
import { cannotJudge } from '../../query-refusals.js';
import { type Described, describeColumns } from './described.js';
import { reachOf, readingFunctions } from './query-reach.js';
import { explaining } from './query-without-audit.js';
import { readerRoles } from './roles.js';
import { analyticsSchemaOf, identitySchemaOf, vaultSchemaOf } from './schema-names.js';

/** While names are masked, a query may read what this role may read: see `schema/postgres/grants.sql`. */
const [maskedRole] = readerRoles;

/**
 * Prepares `statement` to run without the right to read names. Returns its columns and another statement that returns
 * the same rows, each as one text. Throws `usage` when the server cannot be made to withhold the names.
 *
 * The server enforces it: the statement runs as `rosterd_analyst`. `SET LOCAL ROLE` would not do, because a statement can
 * call `set_config('role', …)` and read the rest of its rows with the rights of the login. So it runs inside a function
 * that is `SECURITY DEFINER` and belongs to that role; within one, PostgreSQL changes neither role nor session user,
 * whatever is called and however deep. The function is temporary and is rolled back with the transaction. It fetches
 * row by row, so that rows and bytes are bounded before anything is sent. `prepare` runs before, with the rights of that
 * role and in a transaction that can still write.
 */
export async function withoutNames(
  client: pg.Client,
  statement: string,
  limits: MaskedLimits,
  prepare: () => Promise<void> = async () => {},
): Promise<Masked> {
  const { login, schema } = await pinSearchPath(client);
  await becomeAnalyst(client, login);
  await requireNoNameAccess(client, schema);
  await runOrAdvise(client, maskedFunction, (reason) => ({
    what: `${maskedRole} may not create the temporary function that the statement runs in (${reason})`,
    next: 'As an administrator: GRANT TEMPORARY ON DATABASE … TO rosterd_analyst, with the name of the database.',
  }));
  await prepare();
  await requireNoDefiner(client, statement);
  // Irreversible: PostgreSQL refuses to set a transaction back to READ WRITE after its first query.
  await client.query('SET TRANSACTION READ ONLY');
  const description = await describeColumns(client, statement);
  if (description === null) return { description: null };
  return {
    description,
    text: 'SELECT line FROM pg_temp.rosterd_masked($1, $2, $3, $4) AS line',
    values: [statement, limits.rowsMax, limits.rowBytesMax, limits.bytesMax],
  };
}

export interface MaskedLimits {
  /** The number of rows to fetch at most, or null for all. */
  readonly rowsMax: number | null;
  readonly rowBytesMax: number;
  readonly bytesMax: number | null;
}

export type Masked =
  | { readonly description: null }
  | { readonly description: Described; readonly text: string; readonly values: readonly unknown[] };

/** SQLSTATEs of rosterd's own errors, in a class that PostgreSQL does not use. */
export const rowTooLargeCode = 'RM001';
export const resultTooLargeCode = 'RM002';

const maskedFunction = `
  CREATE FUNCTION pg_temp.rosterd_masked(statement text, rows_max bigint, row_bytes_max bigint, bytes_max bigint)
  RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER AS $$
  DECLARE
    answer refcursor;
    line   record;
    text_of_line text;
    bytes  bigint := 0;
    rows   bigint := 0;
  BEGIN
    OPEN answer NO SCROLL FOR EXECUTE statement;
    LOOP
      EXIT WHEN rows >= rows_max;
      FETCH answer INTO line;
      EXIT WHEN NOT FOUND;
      text_of_line := line::text;
      rows := rows + 1;
      bytes := bytes + octet_length(text_of_line);
      IF octet_length(text_of_line) > row_bytes_max THEN
        RAISE EXCEPTION USING ERRCODE = '${rowTooLargeCode}', MESSAGE = 'a row is too large';
      ELSIF bytes > bytes_max THEN
        RAISE EXCEPTION USING ERRCODE = '${resultTooLargeCode}', MESSAGE = 'the result is too large';
      END IF;
      RETURN NEXT text_of_line;
    END LOOP;
  END
  $$`;

/** Fixes the search_path as the login resolves it: `$user` and schemas without a grant would change with the role. */
async function pinSearchPath(
  client: pg.Client,
): Promise<{ readonly login: string; readonly schema: string }> {
  const { rows } = await client.query<{ login: string; schema: string }>(
    `SELECT session_user::text AS login, current_schema()::text AS schema, set_config('search_path',
       (SELECT string_agg(quote_ident(name), ', ') FROM unnest(current_schemas(false)) AS name), true)`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('a query without FROM returned no row');
  return row;
}

async function becomeAnalyst(client: pg.Client, login: string): Promise<void> {
  await runOrAdvise(client, `SET LOCAL ROLE ${maskedRole}`, (reason) => ({
    what: `${login} cannot take the role ${maskedRole} (${reason})`,
    next: `As an administrator: ${
      reason === noSuchRole
        ? `CREATE ROLE ${maskedRole} NOLOGIN; run schema/postgres/grants.sql as the owner of the mirror; then GRANT ${maskedRole} TO ${sqlName(login)};`
        : `GRANT ${maskedRole} TO ${sqlName(login)};`
    }`,
  }));
}

/** invalid_parameter_value: what SET ROLE reports for a role that does not exist. */
const noSuchRole = '22023';

type Advice = (reason: string) => { readonly what: string; readonly next: string };

async function runOrAdvise(client: pg.Client, sql: string, advice: Advice): Promise<void> {
  try {
    await client.query(sql);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // Other errors, such as classes 08 and 57, are about the connection or the server, not about rights.
    if (typeof code !== 'string' || !/^(?:22023|42|25006|0A)/.test(code)) throw error;
    throw cannotMask(advice(code));
  }
}

function cannotMask({ what, next }: ReturnType<Advice>): Fault {
  return new Fault(
    'usage',
    `the server cannot withhold names, so nothing is run while they are masked: ${what}`,
    {
      hint: `${next} Or ask for names to be shown first.`,
    },
  );
}

/** Throws `usage` if the role can read names because it was granted more than schema/postgres/grants.sql grants. */
async function requireNoNameAccess(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ what: string }>(mayRead, [
    schema,
    identitySchemaOf(schema),
    analyticsSchemaOf(schema),
    vaultSchemaOf(schema),
  ]);
  const [first] = rows;
  if (first === undefined) return;
  throw cannotMask({
    what: `${maskedRole} may read ${first.what}`,
    next: `As an administrator: revoke from ${maskedRole} what it was granted beyond schema/postgres/grants.sql.`,
  });
}

/**
 * Throws `usage` for a statement that could call a function with the rights of its owner (SECURITY DEFINER). Such a
 * function may read names. Where the role may call one, a statement may use no function of users at all, and no function
 * that runs a text as SQL.
 */
async function requireNoDefiner(client: pg.Client, statement: string): Promise<void> {
  const { rows } = await client.query<{ what: string }>(definers);
  const [first] = rows;
  if (first === undefined || /^show\b/i.test(statement)) return;
  const definer = `the function ${first.what} runs with the rights of its owner, and `;
  if (readingFunctions.test(statement) || /\bU&"/i.test(statement))
    throw cannotJudge(`${definer}it could call it`);
  const reach = await reachOf(client, statement.replace(explaining, ''));
  // A statement that is wrong fails with its own error when it is described.
  if (reach instanceof Error) {
    await describeColumns(client, statement);
    throw cannotJudge(`${definer}what it calls cannot be checked`);
  }
  if (reach.ownCode !== null) throw cannotJudge(`${definer}it uses ${reach.ownCode}`);
}

/** Functions that this role may call. Those of PostgreSQL do not read tables that are named in their arguments. */
const definers = `
  SELECT p.oid::regprocedure::text AS what FROM pg_proc p
  WHERE p.prosecdef AND p.oid >= 16384 AND p.pronamespace <> pg_my_temp_schema()
    AND has_schema_privilege(p.pronamespace, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE')
    AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
  ORDER BY 1 LIMIT 1`;

/** Runs as the role itself, so it includes grants from roles it is a member of and from PUBLIC. */
const mayRead = `
  SELECT format('%I.%I', n.nspname, c.relname) AS what
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm') AND has_any_column_privilege(c.oid, 'SELECT')
    AND (n.nspname IN ($2, $4) OR n.nspname = $3 AND c.relname IN ('identities', 'roster') OR n.nspname = $1 AND c.relname IN ('identities', 'roster', 'identity_rows', 'staged_rows', 'quarantine_rows'))
  UNION ALL
  SELECT format('%I.%I.%I', n.nspname, c.relname, a.attname)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE n.nspname = $1 AND c.relname IN ('quarantine', 'webhook_inbox') AND a.attname = 'body'
    AND has_column_privilege(c.oid, a.attnum, 'SELECT')
  ORDER BY 1 LIMIT 1`;
