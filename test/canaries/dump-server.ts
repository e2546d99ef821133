import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withClient } from '../postgres/run-databases.js';

/**
 * Exports what a server stores of a mirror, one file a table, and the samples in its planner statistics. The
 * analysts' role may read everything except the schema of identities.
 */
export async function dumpServer(url: string, folder: string): Promise<void> {
  mkdirSync(folder);
  await withClient(url, async (client) => {
    const { rows: tables } = await client.query<{ schema: string; name: string }>(
      `SELECT schemaname AS schema, tablename AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const sampled = { schema: 'pg_catalog', name: 'pg_stats' };
    for (const { schema, name } of [...tables, sampled]) {
      const { rows } = await client.query<{ row: string }>(
        `SELECT row_to_json(t)::text AS row FROM "${schema}"."${name}" t`,
      );
      writeFileSync(join(folder, `${schema}.${name}`), rows.map(({ row }) => `${row}\n`).join(''));
    }
  });
}
