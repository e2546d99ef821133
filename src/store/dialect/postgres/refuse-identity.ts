import type pg from 'pg';
import { readsPeople, tablesWithPeople } from '../../query-refusals.js';

/**
 * Refuses a statement whose plan reads a table with people in it, by whatever view it gets there. A function that
 * runs a text of its own is not seen through: this guards a screen against accidents. Whoever must not read people
 * at all is given the role `rosterd_analyst`, and the server guards them.
 */
export async function refuseIdentity(client: pg.Client, sql: string): Promise<void> {
  if (/^\s*(?:explain|show)\b/i.test(sql)) return;
  const { rows } = await client.query({
    text: `EXPLAIN (FORMAT JSON) ${sql}`,
    rowMode: 'array',
    queryMode: 'extended',
  } as pg.QueryArrayConfig);
  const plan = JSON.stringify(rows);
  const named = [...plan.matchAll(/\\*"Relation Name\\*":\s*\\*"(\w+)/g)].map(([, name = '']) => name);
  if (tablesWithPeople.some((table) => named.includes(table))) throw readsPeople();
}
