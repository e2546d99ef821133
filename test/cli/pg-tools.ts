import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';

/**
 * Writes stand-ins for pg_dump and pg_restore into a folder and returns it, for a PATH. They keep to the options that
 * rosterd uses and read and write the same text; the file behind `PGDMP` is JSON. The real programs are not installed
 * everywhere, and refuse a server that is newer than they are.
 */
export function pgTools(folder: string, major: number): string {
  mkdirSync(folder);
  for (const [name, text] of [
    ['pg_dump', dump],
    ['pg_restore', restore],
  ] as const) {
    const file = join(folder, name);
    writeFileSync(file, `#!${process.execPath}\n${common(name, major)}\n${text}`);
    chmodSync(file, 0o755);
  }
  return folder;
}

const common = (name: string, major: number) => `
const { readFileSync, writeFileSync } = require('node:fs');
if (process.argv[2] === '--version') { console.log('${name} (PostgreSQL) ${major}.0 (stand-in)'); process.exit(0); }
const option = (name) => process.argv.filter((arg) => arg.startsWith(name + '=')).map((arg) => arg.slice(name.length + 1));
`;

const dump = `
const pg = require('${packageRoot}/node_modules/pg');
const { to } = require('${packageRoot}/node_modules/pg-copy-streams');
(async () => {
  if (!process.argv.includes('--format=custom') || /:[^@/]+@/.test(option('--dbname')[0])) process.exit(3);
  const client = new pg.Client({ connectionString: option('--dbname')[0], password: process.env.PGPASSWORD });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query("SET TRANSACTION SNAPSHOT '" + option('--snapshot')[0] + "'");
  const schemas = option('--schema').map((name) => JSON.parse(name));
  const without = option('--exclude-table-data').map((name) => name.replaceAll('"', ''));
  const tables = {};
  const { rows } = await client.query('SELECT schemaname AS s, tablename AS t FROM pg_tables WHERE schemaname = ANY ($1) ORDER BY 2', [schemas]);
  for (const { s, t } of rows) {
    if (without.includes(s + '.' + t)) continue;
    const found = await client.query('SELECT attname::text AS c FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum', [s + '.' + t]);
    const columns = found.rows.map(({ c }) => '"' + c + '"').join(', ');
    let text = '';
    for await (const chunk of client.query(to('COPY ' + s + '.' + t + ' (' + columns + ') TO STDOUT'))) text += chunk;
    tables[t] = 'COPY ' + s + '.' + t + ' (' + columns + ') FROM stdin;\\n' + text + '\\\\.\\n';
  }
  await client.end();
  writeFileSync(option('--file')[0], 'PGDMP' + JSON.stringify(tables));
})().catch((error) => { console.error(error); process.exit(1); });
`;

const restore = `
const text = readFileSync(process.argv.at(-1), 'utf8');
let tables;
try { tables = JSON.parse(text.slice(5)); } catch { process.exit(1); }
const [only] = option('--table');
process.stdout.write('--\\n-- PostgreSQL database dump\\n--\\nSET statement_timeout = 0;\\n');
for (const [name, data] of Object.entries(tables)) if (only === undefined || only === name) process.stdout.write('\\n' + data + '\\n');
`;
