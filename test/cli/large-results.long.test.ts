import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import type { DatabaseLocation } from '../../src/store/database-location.js';
import { databases } from '../store/support/databases.js';

/** A quarter of the memory that the rows below would need as objects. */
const heapMegabytes = 20;
const rows = 60_000;

const sqlOf: Readonly<Record<string, string>> = {
  SQLite: `WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
           SELECT i, printf('%.*c', 200, 'x') AS text, i || ' of ${rows}' AS other FROM n`,
  PostgreSQL: `SELECT i, repeat('x', 200) AS text, i || ' of ${rows}' AS other FROM generate_series(1, ${rows}) AS i`,
};

const addressOf = (place: DatabaseLocation): string => (place.kind === 'sqlite' ? place.file : place.url);

interface Ended {
  readonly code: number | null;
  readonly err: string;
  readonly bytes: number;
  readonly start: string;
  readonly end: string;
}

/** Runs the command line as a process with a small heap; `take` stops reading early. */
async function rosterd(args: readonly string[], take = Number.POSITIVE_INFINITY): Promise<Ended> {
  const main = join(packageRoot, 'dist', 'cli', 'main.js');
  const child = spawn(process.execPath, [`--max-old-space-size=${heapMegabytes}`, main, ...args], {
    cwd: packageRoot,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [bytes, start, end, err] = [0, '', '', ''];
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    bytes += text.length;
    if (start.length < 400) start += text.slice(0, 400);
    end = (end + text).slice(-400);
    if (bytes > take) child.stdout.destroy();
  });
  const [code] = await once(child, 'close');
  return { code: code as number | null, err, bytes, start, end };
}

// Rows are printed in one way whichever database they come from.
const forms: Readonly<Record<string, readonly string[]>> = {
  SQLite: ['--json', '--csv', 'a table'],
  PostgreSQL: ['--json'],
};

test.each(
  databases.flatMap(({ database, open }) =>
    (forms[database] ?? []).map((form) => ({ database, open, form })),
  ),
)(
  '$database: query prints any number of rows in a small memory: $form',
  { timeout: 300_000 },
  async ({ database, open, form }) => {
    const { place } = await open();
    const args = [
      'query',
      sqlOf[database] ?? '',
      '--limit',
      '1000000',
      '--timeout',
      '250',
      '--database',
      addressOf(place),
    ];
    const { code, err, bytes, start, end } = await rosterd(form === 'a table' ? args : [...args, form]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(bytes).toBeGreaterThan(rows * 210);
    const x = 'x'.repeat(200);
    if (form === '--json') {
      expect(start.startsWith(`[{"i":1,"text":"${x}","other":"1 of ${rows}"},{`)).toBe(true);
      expect(end.endsWith(`,{"i":${rows},"text":"${x}","other":"${rows} of ${rows}"}]\n`)).toBe(true);
    }
    if (form === '--csv') expect(end.endsWith(`${rows},${x},${rows} of ${rows}\r\n`)).toBe(true);
    if (form === 'a table') expect(end.endsWith(`${rows}  ${x}  ${rows} of ${rows}\n`)).toBe(true);
  },
);

test('closing the output pipe ends the query with exit code 0', {
  timeout: 300_000,
}, async () => {
  const [sqlite] = databases;
  const place = (await sqlite?.open())?.place;
  if (place === undefined) throw new Error('no database to ask');
  const endless = 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n';
  const args = ['query', endless, '--json', '--limit', '10000000', '--timeout', '250'];
  const { code, err } = await rosterd([...args, '--database', addressOf(place)], 1_000);
  expect({ code, err }).toEqual({ code: 0, err: '' });
});
