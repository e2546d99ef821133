import type pg from 'pg';
import {
  auditTables,
  callsOwnCode,
  cannotCheckAudit,
  hasParameters,
  onlyReads,
  readsAudit,
  readsVault,
} from '../../query-refusals.js';
import { describeColumns } from './described.js';
import { reachOf, readingFunctions } from './query-reach.js';

/**
 * Throws `usage` if a statement could read the audit log, and makes the transaction read-only. It checks what the
 * statement depends on, which excludes functions of users, and then its plan, which names every table behind views and
 * subqueries, and the functions of PostgreSQL that run SQL. Throws the server's own error for a statement that is wrong,
 * or that it cannot plan.
 */
export async function requireNoAudit(client: pg.Client, statement: string): Promise<void> {
  const isShow = /^show\b/i.test(statement);
  // EXPLAIN ANALYZE runs what it explains, and an error may quote what that read.
  const explained = statement.replace(explaining, '');
  const reach = isShow ? null : await reachOf(client, explained);
  // Irreversible, as in masked-query.ts.
  await client.query('SET TRANSACTION READ ONLY');
  if (reach === null) return;
  if (reach instanceof Error) throw await refusalOf(client, statement, explained, reach);
  if (reach.audit) throw readsAudit();
  if (reach.ownCode !== null) throw callsOwnCode(reach.ownCode);
  if (readingFunctions.test(reach.calls)) throw cannotCheckAudit();
  const plan = await planOrError(client, explained);
  // What the planner computes has no table and no code of users in it, so its error quotes constants of the statement only.
  if (plan instanceof Error) throw Object.assign(plan, { position: undefined });
  if (closedRelations.test(plan)) throw readsAudit();
  if (readingFunctions.test(plan)) throw cannotCheckAudit();
}

/**
 * Throws `usage` if the plan of a statement names a table of the vault. What the vault contains is encrypted with keys that
 * the server does not have; a function of the user's own that reads it gets no further than that.
 */
export async function requireNoVault(client: pg.Client, statement: string): Promise<void> {
  if (/^show\b/i.test(statement)) return;
  const explained = statement.replace(explaining, '');
  const plan = await planOrError(client, explained);
  if (typeof plan === 'string') {
    if (vaultRelations.test(plan)) throw readsVault();
    return;
  }
  // It is wrong, or its EXPLAIN has options that are not recognized here. The second would run without having been checked.
  if (explained !== statement && codeOf(plan) === syntaxError) throw placedIn(statement, explained, plan);
}

/** Places are counted in what was planned, which has other words before what is explained. */
function placedIn(statement: string, explained: string, error: Error): Error {
  const { position } = error as { readonly position?: string };
  if (position === undefined) return error;
  const before = Array.from(statement.slice(0, statement.length - explained.length)).length;
  return Object.assign(error, { position: String(Number(position) - planning.length + before) });
}

const syntaxError = '42601';
const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown }).code;

const vaultRelations = /"Relation Name": "vault_(?:entries|locks)"/;

async function planOrError(client: pg.Client, statement: string): Promise<string | Error> {
  await client.query('SAVEPOINT rosterd_judged');
  const plan = await planOf(client, statement).catch((error: unknown) => error as Error);
  await client.query('ROLLBACK TO SAVEPOINT rosterd_judged');
  return plan;
}

/** EXPLAIN and SHOW cannot be declared as cursors; their results are short. */
export const shortAnswer = /^(?:explain|show)\b/i;

export const declaring = 'DECLARE rosterd_query NO SCROLL CURSOR FOR ';

/** Returns what a comment is that has comments in it so many levels deep. A regular expression cannot count them. */
const comment = (levels: number): string =>
  String.raw`/\*(?:[^*/]|\*(?!/)|/(?!\*)${levels === 0 ? '' : `|${comment(levels - 1)}`})*\*/`;

/** White space or a comment. */
const blank = String.raw`(?:\s|--[^\n\r]*[\n\r]|${comment(4)})`;

/** EXPLAIN and its options. A statement in parentheses is no list of options. */
export const explaining = new RegExp(
  String.raw`^explain(?![\w$])(?:${blank}|\((?!${blank}*(?:select|with|values|table)(?![\w$]))(?:${blank}|(?!--|/\*)[^()\s])*\)|(?:analy[sz]e|verbose)(?![\w$]))*`,
  'i',
);

/** Returns the error of a statement that cannot be judged. One that is wrong is described, which does not run it. */
async function refusalOf(
  client: pg.Client,
  statement: string,
  explained: string,
  reason: Error,
): Promise<unknown> {
  if (explained !== statement) return cannotCheckAudit();
  try {
    await describeColumns(client, statement);
  } catch (error) {
    return declaredLater(error);
  }
  // It is well-formed, but it cannot stand where a SELECT can.
  const code = codeOf(reason);
  if (code === '0A000' || code === syntaxError) return readsOnly();
  return code === '42P02' ? hasParameters() : cannotCheckAudit();
}

export const readsOnly = () => onlyReads('SELECT, WITH, VALUES, TABLE, EXPLAIN or SHOW');

/** Places in a statement are counted with the words before it: see `placeOf` in query-faults.ts. */
function declaredLater(error: unknown): unknown {
  const { position } = error as { readonly position?: string };
  return position === undefined
    ? error
    : Object.assign(error as Error, { position: String(Number(position) + declaring.length) });
}

const planning = 'EXPLAIN (VERBOSE, FORMAT JSON) ';

async function planOf(client: pg.Client, statement: string): Promise<string> {
  const text = `${planning}${statement}`;
  const { rows } = await client.query<string[]>({
    text,
    rowMode: 'array',
    queryMode: 'extended',
  } as pg.QueryArrayConfig);
  return rows.flat().join('\n');
}

/** The tables, and the planner's samples of their values. */
const closedRelations = new RegExp(
  `"Relation Name": "(?:${[...auditTables, 'pg_statistic', 'pg_statistic_ext_data'].join('|')})"`,
);
