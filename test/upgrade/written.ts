import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type pg from 'pg';

/** What a tagged version wrote: see `write-fixtures.ts`. */
export interface Written {
  readonly version: string;
  /** A time shortly after the files were written. */
  readonly at: string;
  /** The last migration of that version. */
  readonly migrations: { readonly sqlite: number; readonly postgres: number };
  readonly investments: number;
  readonly changes: number;
  /** An investment whose investor was forgotten. */
  readonly forgotten: string;
  readonly seed: number;
  readonly companies: number;
  readonly records: number;
}

export const writtenFolder = (version: string): string =>
  fileURLToPath(new URL(`./written-by-${version}/`, import.meta.url));

/** Every version with fixtures, oldest first. */
export const writtenVersions: readonly Written[] = readdirSync(new URL('.', import.meta.url))
  .filter((name) => name.startsWith('written-by-'))
  .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  .map((name) => {
    const version = name.slice('written-by-'.length);
    return { version, ...JSON.parse(readFileSync(join(writtenFolder(version), 'written.json'), 'utf8')) };
  });

/** Returns a compressed fixture: `mirror.db`, `platform.db` or `postgres.json`. */
export const unpacked = (version: string, name: string): Buffer =>
  gunzipSync(readFileSync(join(writtenFolder(version), `${name}.gz`)));

/** Inserts the rows as they were, past triggers, and sets the counters behind them. */
export async function fill(
  client: pg.Client,
  tables: Readonly<Record<string, readonly object[]>>,
): Promise<void> {
  await client.query('SET session_replication_role = replica');
  for (const [table, rows] of Object.entries(tables)) {
    await client.query(`DELETE FROM ${table}`);
    await client.query(
      `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $1)`,
      [JSON.stringify(rows)],
    );
  }
  await client.query('SET session_replication_role = DEFAULT');
  const { rows: identities } = await client.query(
    `SELECT format('%I.%I', table_schema, table_name) AS name, column_name AS counted
     FROM information_schema.columns WHERE is_identity = 'YES' AND table_schema IN ('public', 'rosterd_identity')`,
  );
  for (const { name, counted } of identities)
    await client.query(
      `SELECT setval(pg_get_serial_sequence($1, $2), (SELECT coalesce(max(${counted}), 0) + 1 FROM ${name}), false)`,
      [name, counted],
    );
}
