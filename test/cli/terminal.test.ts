import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { guarded, Terminal } from '../../src/cli/output/terminal.js';
import { systemClock } from '../../src/runtime/clock.js';
import { collector, commandOf, fakeIo, rosterd } from './fake-io.js';
import { copiedMirror, type FilledMirror, filledMirror } from './filled-mirror.js';

/** Characters that control a terminal: C0, DEL, C1, and marks, overrides and isolates of the text direction. */
const hostile = [
  ...['\u001b[2J\u001b]0;owned\u0007', '\u0000\u0008\u000b\u000c\u001f\u007f', '\u0080\u0085\u009b31m\u009f'],
  ...[
    '\u061c\u200e\u200f',
    '\u202a\u202b\u202c\u202d\u202e',
    '\u2066\u2067\u2068\u2069',
    '\u2028\u2029\ufff9\ufffb',
  ],
  'one\rtwo',
].join('');

/** Newlines and tabs are layout; every other control character must be escaped. */
const obeyed = /\r(?!\n)|[^\P{Cc}\t\n\r]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]/u;

let world: FilledMirror;
let id: string;

beforeAll(async () => {
  world = await filledMirror(5);
  await world.sync();
  const raw = new Sqlite(join(world.folder, 'mirror.db'));
  id = raw.prepare<[], string>('SELECT id FROM investments ORDER BY id LIMIT 1').pluck().get() ?? '';
  const text = { hostile, json: JSON.stringify({ [hostile]: hostile }) };
  raw
    .prepare(
      'UPDATE investment_rows SET status = @hostile, group_label = @hostile, reason = @hostile, extra = @json',
    )
    .run(text);
  raw.prepare('UPDATE identity_rows SET name = @hostile, bio = @hostile').run(text);
  raw.prepare("UPDATE change_rows SET reason = @hostile, fields = '[]'").run(text);
  raw
    .prepare(
      "UPDATE sources SET state = 'halted', halted_from = 'following', halted_code = 'refused', halted_message = @hostile, last_error = @hostile",
    )
    .run(text);
  raw
    .prepare(
      "INSERT INTO quarantine_rows (source_no, id, problem, body, seen_at) VALUES (1, @hostile, @hostile, @json, '2026-10-20T12:00:00.000Z')",
    )
    .run(text);
  raw.close();
});
afterAll(() => world.close());

const everything = `SELECT status AS "${hostile.replaceAll('\0', '')}", group_label, extra FROM investments`;

describe('on a terminal', () => {
  const commands: readonly (readonly string[])[] = [
    ['query', everything],
    ['query', everything, '--csv'],
    ['query', everything, '--json'],
    ['query', 'SELECT problem, id FROM quarantine', '--json'],
    ['query', `SELECT "${hostile.replaceAll('\0', '')}" FROM nowhere`],
    ['history', 'ID'],
    ['history', 'ID', '--json'],
    ['history', `inv_${hostile}`],
    ['changes'],
    ['changes', '--json'],
    ['export'],
    ['export', '--raw', '--identity'],
    ['export', '--format', 'jsonl', '--identity'],
    ['export', '--format', 'founder-csv', '--out', '-', '--identity'],
    ['status'],
    ['status', '--json'],
    ['verify', '--source', hostile],
    ['config', 'show', '--set', `sources.0.name=${hostile}`],
    [hostile],
    ['query', 'SELECT 1', `--${hostile}`],
  ];

  test.each(commands.map((args) => [args]))('%j sends nothing that a terminal obeys', async (args) => {
    const typed = args.map((arg) => (arg === 'ID' ? id : arg));
    const { out, err } = await world.run(typed, {
      tty: true,
      columns: 100,
      env: { ACME: world.company.token, NO_COLOR: '1' },
    });
    expect(`${out}${err}`.length).toBeGreaterThan(0);
    expect([args, obeyed.exec(out + err)]).toEqual([args, null]);
  });

  test('JSON keeps its value, and CSV shows the escaped data', async () => {
    const env = { ACME: world.company.token, NO_COLOR: '1' };
    const tty = { tty: true, columns: 100, env };
    const sql = 'SELECT status, extra FROM investments LIMIT 1';
    const json = await world.run(['query', sql, '--json'], tty);
    expect(JSON.parse(json.out)).toEqual([
      { status: hostile, extra: JSON.stringify({ [hostile]: hostile }) },
    ]);
    const versions = await world.run(['history', id, '--json'], tty);
    expect(JSON.parse(versions.out)).toMatchObject([{ status: hostile, extra: { [hostile]: hostile } }]);
    expect((await world.run(['query', sql, '--csv'], tty)).out).toContain('\\u001b[2J\\u001b]0;owned\\u0007');
  });

  test.each([[['sources', 'list']], [['export', '--help']]])(
    'without a size, a terminal has 80 columns: %j',
    async (args) => {
      const now = systemClock.now();
      const clock = { ...systemClock, now: () => now };
      const at = async (columns: number) => (await world.run(args, { tty: true, columns, clock })).out;
      expect(await at(0)).toBe(await at(80));
      expect(await at(0)).not.toBe(await at(24));
    },
  );

  test('rows on a terminal are not mixed with progress', async () => {
    const large = copiedMirror(world);
    onTestFinished(() => large.close());
    large.inFile((raw) => {
      const columns = raw.prepare("SELECT name FROM pragma_table_info('investment_rows')").pluck().all();
      const others = columns.filter((name) => name !== 'row_no' && name !== 'id').join(', ');
      raw.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
        INSERT INTO investment_rows (id, ${others}) SELECT 'inv_' || i, ${others} FROM investment_rows, n
        WHERE row_no = (SELECT min(row_no) FROM investment_rows)`);
    });
    expect((await large.run(['export'], { tty: true })).err).toBe('');
    expect((await large.run(['export', '--out', 'all.csv'], { tty: true })).err).toContain('export  [');
  });

  test('colours of the output itself pass, and those in data are escaped', async () => {
    const probe = commandOf(async ({ out, io }) => {
      out.rows([{ title: 'T\u001b[31m' }], [['\u001b[31mred']]);
      io.stdout.write('\u001b[31mred\n');
      out.json({ a: '\u009b31m' });
      out.line('\u001b[31m');
      out.note('\u001b[31m');
      return 0;
    });
    const { out, err } = await rosterd(['probe'], fakeIo({ tty: true, env: {} }), [probe]);
    expect(out).toBe(
      '\u001b[1mT\\u001b[31m\u001b[22m\n\\u001b[31mred\n\\u001b[31mred\n{\n  "a": "\\u009b31m"\n}\n\\u001b[31m\n',
    );
    expect(err).toBe('\\u001b[31m\n');
  });

  test('a CRLF split over two writes stays one line end', () => {
    const { stream, text } = collector(true, 80);
    const terminal = guarded(stream);
    expect(terminal).toBeInstanceOf(Terminal);
    for (const piece of ['a,b\r', '\nc\r', 'd\r\n', '\r', '\n']) terminal.write(piece);
    expect(text()).toBe('a,b\r\nc\\u000dd\r\n\r\n');
  });
});

test('a pipe gets every byte unchanged', async () => {
  const json = await world.run(['query', 'SELECT status FROM investments LIMIT 1', '--json']);
  expect(json.out).toBe(`[${JSON.stringify({ status: hostile })}]\n`);
  const csv = await world.run(['query', 'SELECT group_label FROM investments LIMIT 1', '--csv']);
  expect(csv.out).toBe(`group_label\r\n"${hostile}"\r\n`);
  expect((await world.run(['export', '--format', 'jsonl', '--identity'])).out).toContain(
    JSON.stringify(hostile),
  );
});
