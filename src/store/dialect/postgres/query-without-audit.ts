import type pg from 'pg';
import { auditTables, cannotCheckAudit, readsAudit, readsVault } from '../../query-refusals.js';

/**
 * Throws `usage` if a statement could read the audit log. It checks the plan, which names every table behind views,
 * quoted names and subqueries, and every function. A statement that the server does not plan is refused, unless it is
 * wrong: then the server's own error is thrown.
 */
export async function requireNoAudit(client: pg.Client, statement: string): Promise<void> {
  if (/^show\b/i.test(statement)) return;
  // EXPLAIN ANALYZE runs what it explains, and an error may quote what that read.
  const explained = statement.replace(explaining, '');
  const plan = await planOrNull(client, explained);
  if (plan === null) {
    // A cursor plans the statement and does not run it. This fails with the place of the mistake.
    if (explained === statement) await client.query({ text: `${declaring}${statement}`, ...extended });
    throw cannotCheckAudit();
  }
  if (closedRelations.test(plan)) throw readsAudit();
  if (readingFunctions.test(plan)) throw cannotCheckAudit();
}

/**
 * Throws `usage` if the plan of a statement names a table of the vault. What those contain is encrypted with keys that
 * the server does not have; a function of the user's own that reads them gets no further than that.
 */
export async function requireNoVault(client: pg.Client, statement: string): Promise<void> {
  if (/^show\b/i.test(statement)) return;
  const plan = await planOrNull(client, statement.replace(explaining, ''));
  if (plan !== null && vaultRelations.test(plan)) throw readsVault();
}

const vaultRelations = /"Relation Name": "vault_(?:entries|locks)"/;

async function planOrNull(client: pg.Client, statement: string): Promise<string | null> {
  await client.query('SAVEPOINT rosterd_judged');
  const plan = await planOf(client, statement).catch(() => null);
  await client.query('ROLLBACK TO SAVEPOINT rosterd_judged');
  return plan;
}

export const declaring = 'DECLARE rosterd_query NO SCROLL CURSOR FOR ';

const extended = { queryMode: 'extended' } as const;

const explaining = /^explain(?![\w$])\s*(?:\([^)]*\)|(?:analy[sz]e|verbose)(?![\w$])|\s+)*/i;

async function planOf(client: pg.Client, statement: string): Promise<string> {
  const text = `EXPLAIN (VERBOSE, FORMAT JSON) ${statement}`;
  const { rows } = await client.query<string[]>({
    text,
    rowMode: 'array',
    ...extended,
  } as pg.QueryArrayConfig);
  return rows.flat().join('\n');
}

/** The tables, and the planner's samples of their values. */
const closedRelations = new RegExp(
  `"Relation Name": "(?:${[...auditTables, 'pg_statistic', 'pg_statistic_ext_data'].join('|')})"`,
);

/** Functions that run a statement or read a table that is named in a text. */
const readingFunctions =
  /(?:query|table|cursor|schema|database)_to_xml|ts_stat|ts_rewrite|dblink|pg_read_|pg_ls_|lo_get|pg_logical_/i;
