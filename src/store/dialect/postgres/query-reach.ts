import type pg from 'pg';
import { typedViews } from '../../dictionary/typed-views.js';
import { auditTables } from '../../query-refusals.js';
import { ownMark } from './described-schema.js';

/** What a statement can reach that the server's plan does not show. */
export interface Reach {
  /** Whether it reaches the audit log, also through views. */
  readonly audit: boolean;
  /**
   * The first thing it uses that can run code that is not part of PostgreSQL: a function, an operator or a type with a
   * check, a foreign table, a table with row security. Null when there is none.
   */
  readonly ownCode: string | null;
  /** The names of all functions that it calls, also in views, with spaces between them. */
  readonly calls: string;
  /** A typed view of rosterd in the schema `typed` that it reads, also through other views. Null when there is none. */
  readonly typed: string | null;
}

/** PostgreSQL's own functions that run a statement or read a table that is named in a text. */
export const readingFunctions =
  /\b(?:(?:query|table|cursor|schema|database)_to_xml|ts_stat|ts_rewrite|dblink|pg_read_|pg_ls_|lo_get|pg_logical_)/i;

/**
 * Returns what a statement reaches, or the server's error. Nothing of it is run or planned: the planner already calls
 * immutable functions. The statement becomes the body of a temporary view that is rolled back, and the server's record
 * of what that view depends on is read. It knows functions behind operators, casts and aggregates. PostgreSQL's own are
 * not in that record and are read from the stored query, because plans show neither the rows of VALUES nor a LIMIT. The
 * transaction has to be able to write.
 */
export async function reachOf(client: pg.Client, statement: string, typed = ''): Promise<Reach | Error> {
  // The line break ends a comment.
  const whole = await reachOfBody(client, `${statement}\n`, typed);
  if (!isSyntaxError(whole)) return whole;
  for (const part of partsBeforeSemicolons(statement)) {
    const reach = await reachOfBody(client, part, typed);
    if (!(reach instanceof Error)) return reach;
  }
  return whole;
}

/** Semicolons from the end of the text. There is more than one if a comment behind the statement has some. */
const semicolonsMax = 5;

/**
 * A semicolon may end a statement, but it cannot stand in parentheses. Without a line break behind it, a part that ends
 * within a comment or a text is no statement. So the semicolon of a part that is one ended the statement, and the server
 * refuses another one behind it.
 */
function partsBeforeSemicolons(statement: string): readonly string[] {
  const texts = statement.split(';');
  return Array.from({ length: Math.min(semicolonsMax, texts.length - 1) }, (_, cut) =>
    texts.slice(0, texts.length - 1 - cut).join(';'),
  );
}

const isSyntaxError = (reach: Reach | Error): boolean =>
  reach instanceof Error && 'code' in reach && reach.code === '42601';

async function reachOfBody(client: pg.Client, body: string, typed: string): Promise<Reach | Error> {
  await client.query('SAVEPOINT rosterd_reach');
  try {
    // A subquery may repeat a column name, which a view may not.
    const text = `CREATE TEMP VIEW rosterd_reach AS SELECT 1 AS one WHERE EXISTS (\n${body})`;
    await client.query({ text, queryMode: 'extended' } as pg.QueryConfig);
    const { rows } = await client.query<Reach>(reached, [auditTables, typed, typedNames, ownMark]);
    return rows[0] ?? new Error('a query of totals returned no row');
  } catch (error) {
    return error as Error;
  } finally {
    await client.query('ROLLBACK TO SAVEPOINT rosterd_reach');
  }
}

const typedNames = typedViews.map(({ name }) => name);

/** Objects with a smaller id are part of PostgreSQL. Those in the temporary schema were made by rosterd for the statement. */
const firstOwn = 16_384;

const reached = `
  WITH RECURSIVE reached(class, object) AS (
    SELECT 'pg_class'::regclass::oid, 'pg_temp.rosterd_reach'::regclass::oid
    UNION
    SELECT d.refclassid, d.refobjid
    FROM reached r
    JOIN pg_rewrite w ON w.ev_class = r.object
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
    WHERE r.class = 'pg_class'::regclass
  ), own AS (
    SELECT class, object FROM reached WHERE object >= ${firstOwn}
  )
  SELECT
    EXISTS (SELECT FROM own JOIN pg_class c ON c.oid = own.object AND own.class = 'pg_class'::regclass
            WHERE c.relname = ANY ($1)) AS audit,
    (SELECT min(pg_describe_object(class, object, 0)) FROM own WHERE NOT CASE class
       WHEN 'pg_class'::regclass THEN EXISTS (SELECT FROM pg_class c WHERE c.oid = object
         AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT c.relrowsecurity)
       WHEN 'pg_proc'::regclass THEN EXISTS (SELECT FROM pg_proc p WHERE p.oid = object
         AND p.pronamespace = pg_my_temp_schema())
       WHEN 'pg_type'::regclass THEN EXISTS (SELECT FROM pg_type t WHERE t.oid = object AND t.typtype IN ('c', 'e'))
       ELSE class IN ('pg_namespace'::regclass, 'pg_collation'::regclass, 'pg_constraint'::regclass) END) AS "ownCode",
    (SELECT coalesce(string_agg(DISTINCT p.proname, ' '), '')
     FROM reached r JOIN pg_rewrite w ON r.class = 'pg_class'::regclass AND w.ev_class = r.object
     CROSS JOIN regexp_matches(w.ev_action::text, ':(?:func|aggfno|winfno|opfunc)id ([0-9]+)', 'g') AS called
     JOIN pg_proc p ON p.oid = called[1]::oid) AS calls,
    (SELECT min(c.relname::text) FROM own JOIN pg_class c ON c.oid = own.object AND own.class = 'pg_class'::regclass
     WHERE c.relname = ANY ($3) AND c.relnamespace = (
       SELECT oid FROM pg_namespace WHERE nspname = $2 AND starts_with(obj_description(oid, 'pg_namespace'), $4))) AS typed`;
