import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';

/**
 * Writes stand-ins for pg_dump and pg_restore into a folder and returns it, for a PATH. They keep to the options that
 * rosterd uses and read and write the same text, which is the file behind `PGDMP`. The real programs are not installed
 * everywhere, and refuse a server that is newer than they are. A restore starts pg_restore once for each table, so it
 * is no script of Node, which takes many times longer to start.
 */
export function pgTools(folder: string, major: number): string {
  mkdirSync(folder);
  writeFileSync(join(folder, 'dump.cjs'), dump);
  for (const [name, text] of [
    ['pg_dump', `exec '${process.execPath}' '${join(folder, 'dump.cjs')}' "$@"\n`],
    ['pg_restore', restore],
  ] as const) {
    const file = join(folder, name);
    writeFileSync(file, `${head(name, major)}${text}`);
    chmodSync(file, 0o755);
  }
  return folder;
}

const head = (name: string, major: number) => `#!/bin/sh
if [ "$1" = --version ]; then echo '${name} (PostgreSQL) ${major}.0 (stand-in)'; exit 0; fi
`;

const dump = `
const { writeFileSync } = require('node:fs');
const pg = require('${packageRoot}/node_modules/pg');
const { to } = require('${packageRoot}/node_modules/pg-copy-streams');
const option = (name) => process.argv.filter((arg) => arg.startsWith(name + '=')).map((arg) => arg.slice(name.length + 1));
(async () => {
  if (!process.argv.includes('--format=custom') || /:[^@/]+@/.test(option('--dbname')[0])) process.exit(3);
  const client = new pg.Client({ connectionString: option('--dbname')[0], password: process.env.PGPASSWORD });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query("SET TRANSACTION SNAPSHOT '" + option('--snapshot')[0] + "'");
  const schemas = option('--schema').map((name) => JSON.parse(name));
  const without = option('--exclude-table-data').map((name) => name.replaceAll('"', ''));
  let dumped = 'PGDMP\\n';
  const { rows } = await client.query('SELECT schemaname AS s, tablename AS t FROM pg_tables WHERE schemaname = ANY ($1) ORDER BY 2', [schemas]);
  for (const { s, t } of rows) {
    if (without.includes(s + '.' + t)) continue;
    const found = await client.query('SELECT attname::text AS c FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum', [s + '.' + t]);
    const columns = found.rows.map(({ c }) => '"' + c + '"').join(', ');
    let text = '';
    for await (const chunk of client.query(to('COPY ' + s + '.' + t + ' (' + columns + ') TO STDOUT'))) text += chunk;
    dumped += 'COPY ' + s + '.' + t + ' (' + columns + ') FROM stdin;\\n' + text + '\\\\.\\n\\n';
  }
  await client.end();
  writeFileSync(option('--file')[0], dumped);
})().catch((error) => { console.error(error); process.exit(1); });
`;

/** Without a whole table at its end, the file is damaged. */
const restore = `
for arg in "$@"; do case $arg in --table=*) only=\${arg#--table=} ;; esac; file=$arg; done
printf '%s\\n' -- '-- PostgreSQL database dump' -- 'SET statement_timeout = 0;' ''
LC_ALL=C PATH=/usr/bin:/bin exec awk -v only="$only" '
  !inside && /^COPY / { inside = 1; name = $2; sub(/^.*[.]/, "", name); shown = only == "" || only == name }
  inside && shown { print }
  inside && $0 == "\\\\." { inside = 0; if (shown) print "" }
  END { exit inside || NR < 2 }
' "$file"
`;
