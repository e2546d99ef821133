import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { serveAssistant } from '../../src/assistants/serve.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { fakeIo, rosterd } from '../cli/fake-io.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { fillWithCanaries, showsPeople } from '../store/support/canaries.js';
import { postgresMirror, sqliteMirror, type WorkingMirror } from '../store/support/databases.js';
import { freshMirror, seedHistory, seedInvestment, seedRow, seedSource } from '../store/support/mirror.js';
import { type AtEnd, tempFolder } from '../store/temp-folder.js';
import { type Conversation, program, programEnv, talkTo, talkToProcess } from './talk.js';

const tools = ['describe_schema', 'query', 'example_queries', 'status', 'history', 'changes'];

/** A mirror with two versions of an investment, and unknown fields that could name a person. */
function mirrorWithHistory() {
  const mirror = freshMirror();
  seedSource(mirror, 1, { name: 'acme', rows_held: 1 });
  seedInvestment(mirror, 1, 'inv_1', {
    status: 'canceled',
    valid_from: '2026-10-12T00:00:00.000Z',
    change_seq: 3,
    extra: '{"phone":"Zq7Canary"}',
  });
  seedHistory(mirror, 1, 'inv_1', {
    valid_from: '2026-10-10T00:00:00.000Z',
    valid_to: '2026-10-12T00:00:00.000Z',
    ended_by: 'update',
    change_seq: 2,
    extra: '{"phone":"Zq7Canary old"}',
  });
  const at = '2026-10-10T00:00:00.000Z';
  seedRow(mirror, 'change_rows', { source_no: 1, kind: 'snapshot', at });
  seedRow(mirror, 'change_rows', { source_no: 1, id: 'inv_1', kind: 'added', at });
  seedRow(mirror, 'change_rows', {
    ...{ source_no: 1, id: 'inv_1', kind: 'changed', at: '2026-10-12T00:00:00.000Z' },
    fields: '["status","extra"]',
  });
  return { kind: 'sqlite', file: mirror.file } as const;
}

const at = (minute: number) =>
  new Date(Date.parse('2026-10-10T00:00:00.000Z') + minute * 60_000).toISOString();

describe.each(['present', 'earlier'] as const)('assistants: the %s client of the SDK', (generation) => {
  test(`assistants: the ${generation} client finds all tools and resources, and their answers`, async () => {
    const talk = await talkToProcess(mirrorWithHistory(), generation);
    expect(await talk.toolNames()).toEqual(tools);
    const uris = await talk.resourceUris();
    expect(uris).toEqual(
      expect.arrayContaining(['rosterd://dictionary', 'rosterd://queries', 'rosterd://status']),
    );
    expect(uris).toContain('rosterd://tables/investments');
    expect(await talk.read('rosterd://tables/investments')).toContain('| `committed_cents` |');
    expect(await talk.read('rosterd://dictionary')).toMatch(/^# Data dictionary/);
    const { text } = await talk.call('query', { sql: 'SELECT id, status FROM investments' });
    expect(JSON.parse(text)).toMatchObject({
      columns: ['id', 'status'],
      rows: [['inv_1', 'canceled']],
      truncated: false,
    });
  });
});

const databases: readonly {
  readonly database: 'SQLite' | 'PostgreSQL';
  /** The mirror is closed at the end that is registered. */
  open(atEnd: AtEnd): Promise<WorkingMirror>;
}[] = [
  { database: 'SQLite', open: async (atEnd) => sqliteMirror(freshMirror(undefined, atEnd)) },
  {
    database: 'PostgreSQL',
    async open(atEnd) {
      const { url } = await migratedDatabase();
      const opened = await openPostgres(url);
      atEnd(() => opened.close());
      return postgresMirror(opened, url);
    },
  },
];

describe.each(databases)('assistants on $database', ({ database, open }) => {
  // Both only read, so the tests share them.
  let masked: Conversation;
  let named: Conversation;
  const ends: Parameters<AtEnd>[0][] = [];
  const atEnd: AtEnd = (end) => void ends.push(end);
  beforeAll(async () => {
    const place = await fillWithCanaries(await open(atEnd));
    masked = await talkTo(place, { flags: ['--log-level', 'debug'], atEnd });
    named = await talkTo(place, { flags: ['--identity', '--log-level', 'debug'], atEnd });
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });

  const cases: readonly (readonly [string, Record<string, unknown>])[] = [
    ['query', { sql: 'SELECT * FROM identities' }],
    ['query', { sql: 'SELECT name FROM roster' }],
    ['query', { sql: 'SELECT * FROM quarantine' }],
    ['query', { sql: 'SELECT body FROM webhook_inbox' }],
    ['query', { sql: 'SELECT * FROM identity_rows' }],
    [
      'query',
      { sql: "SELECT * FROM investments WHERE id IN (SELECT id FROM identities WHERE name LIKE 'Z%')" },
    ],
    ['query', { sql: 'SELECT * FROM roster', as_of: '2026-10-15' }],
    ['query', { sql: 'SELECT * FROM investments' }],
    ['query', { sql: 'SELECT * FROM changes' }],
    ['describe_schema', {}],
    ['describe_schema', { names: ['identities', 'roster', 'quarantine'] }],
    ['example_queries', {}],
    ['status', {}],
    ['history', { id: 'inv_1' }],
    ['changes', {}],
    ['changes', { since: 0 }],
  ];

  test(`assistants on ${database}: no tool and no resource shows people without --identity`, async () => {
    const seen: string[] = [];
    for (const [tool, args] of cases) seen.push((await masked.call(tool, args)).text);
    for (const uri of await masked.resourceUris()) seen.push(await masked.read(uri));
    expect(seen.filter(showsPeople)).toEqual([]);
    expect(showsPeople(masked.log())).toBe(false);
    const refused = await masked.call('query', { sql: 'SELECT name FROM roster' });
    expect(refused.failed).toBe(true);
    expect(refused.text).toContain('masked');
    expect((await masked.call('query', { sql: 'SELECT count(*) AS n FROM investments' })).failed).toBe(false);
  });

  test(`assistants on ${database}: --identity shows names, and the log says so without them`, async () => {
    const { text, failed } = await named.call('query', { sql: 'SELECT name FROM roster' });
    expect([failed, showsPeople(text)]).toEqual([false, true]);
    expect(named.log()).toContain('the assistant may read names');
    expect(showsPeople(named.log())).toBe(false);
  });

  test.each(['audit_log', 'operator_requests'])(
    `assistants on ${database}: what users of the console did stays there, also with --identity: %s`,
    async (table) => {
      const { text, failed } = await named.call('query', { sql: `SELECT * FROM ${table}` });
      expect([failed, text]).toEqual([true, expect.stringContaining('only operators may read audit_log')]);
      expect((await named.call('query', { sql: 'SELECT name FROM roster' })).failed).toBe(false);
    },
  );

  test(`assistants on ${database}: what a query may not do is an error that says why`, async () => {
    const failing = async (tool: string, args: Record<string, unknown>) => {
      const { text, failed } = await masked.call(tool, args);
      expect([text, failed]).toEqual([text, true]);
      return text;
    };
    expect(await failing('query', { sql: "UPDATE sources SET name = 'x'" })).toContain(
      'only statements that read',
    );
    expect(await failing('query', { sql: 'SELECT total FROM nowhere' })).toContain('nowhere');
    expect(await failing('query', { sql: 'SELECT 1', as_of: '2999-01-01' })).toContain('future');
    expect(await failing('query', { sql: 'SELECT 1', as_of: 'yesterday' })).toContain('2026-03-31');
    expect(await failing('history', { id: 'usr_1' })).toContain('inv_');
    expect(await failing('history', { id: 'inv_unknown' })).toContain('no version');
    expect(await failing('changes', { source: 'acmee' })).toContain('acme');
    expect(await failing('describe_schema', { names: ['investment'] })).toContain(
      'did you mean investments?',
    );
    expect(await failing('query', { sql: '' })).toContain('sql');
  });

  test(`assistants on ${database}: a result ends at 1,000 rows and at a million characters, and keeps every number`, async () => {
    const counting = (max: number, column: string) =>
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${max}) SELECT ${column} FROM n`;
    const many = JSON.parse((await masked.call('query', { sql: counting(1_001, 'i') })).text);
    expect(many).toMatchObject({ row_count: 1_000, truncated: true });
    expect(many.notes[0]).toContain('only the first 1000 rows');
    const wide = database === 'SQLite' ? 'hex(zeroblob(1500))' : "repeat('0', 3000)";
    const large = JSON.parse((await masked.call('query', { sql: counting(900, `i, ${wide}`) })).text);
    expect(large.truncated).toBe(true);
    expect(large.rows.length).toBe(large.row_count);
    expect(large.row_count).toBeLessThan(340);
    const infinite = database === 'SQLite' ? '9e999' : "'Infinity'::float8";
    const most = await masked.call('query', { sql: `SELECT ${infinite} AS most, 9007199254740993 AS large` });
    expect(JSON.parse(most.text).rows).toEqual([['Infinity', '9007199254740993']]);
    const beyond = database === 'SQLite' ? 'hex(zeroblob(3000000))' : "repeat('0', 6000000)";
    const refused = await masked.call('query', { sql: `SELECT ${beyond}` });
    expect([refused.failed, refused.text]).toEqual([true, expect.stringContaining('4 MB')]);
  });
});

test('assistants: history and changes leave unknown fields out without --identity, and show them with it', async () => {
  const place = mirrorWithHistory();
  for (const flags of [[], ['--identity']]) {
    const talk = await talkTo(place, { flags });
    const history = await talk.call('history', { id: 'inv_1' });
    const changes = await talk.call('changes', { since: 0 });
    expect([history, changes].map(({ text }) => showsPeople(text))).toEqual(
      flags.length === 0 ? [false, false] : [true, true],
    );
    expect(JSON.parse(history.text).versions).toMatchObject([
      { status: 'canceled', valid_to: null },
      { status: 'active', ended_by: 'update' },
    ]);
    expect(JSON.parse(changes.text).changes.at(-1)).toMatchObject({
      before: { status: 'active' },
      after: { status: 'canceled' },
    });
  }
});

test('assistants: changes are read in batches by number, and the newest without one', async () => {
  const talk = await talkTo(mirrorWithHistory());
  const ask = async (args: Record<string, unknown>) => JSON.parse((await talk.call('changes', args)).text);
  const seqs = ({ changes }: { changes: readonly { seq: number }[] }) => changes.map(({ seq }) => seq);
  const first = await ask({ since: 0, limit: 2 });
  expect([seqs(first), first.next_since, first.more]).toEqual([[1, 2], 2, true]);
  const rest = await ask({ since: 2, limit: 2, source: 'acme' });
  expect([seqs(rest), rest.next_since, rest.more]).toEqual([[3], 3, false]);
  const newest = await ask({ limit: 1 });
  expect([seqs(newest), newest.newest_change]).toEqual([[3], 3]);
});

test('assistants: history has the newest versions of all sources, and says how many it leaves out', async () => {
  const mirror = freshMirror();
  for (const [number, name] of [
    [1, 'acme'],
    [2, 'beta'],
  ] as const) {
    seedSource(mirror, number, { name, rows_held: 1 });
    seedInvestment(mirror, number, 'inv_1', { change_seq: 900 + number });
  }
  for (let seq = 1; seq <= 250; seq += 1)
    seedHistory(mirror, 1, 'inv_1', {
      change_seq: seq,
      valid_from: at(seq),
      valid_to: at(seq + 1),
      ended_by: 'update',
    });
  const talk = await talkTo({ kind: 'sqlite', file: mirror.file });
  const { versions, notes } = JSON.parse((await talk.call('history', { id: 'inv_1' })).text);
  expect(versions).toHaveLength(200);
  expect(
    versions.slice(0, 3).map((one: { source: string; change_seq: number }) => [one.source, one.change_seq]),
  ).toEqual([
    ['beta', 902],
    ['acme', 901],
    ['acme', 250],
  ]);
  expect(notes).toEqual([expect.stringContaining('newest 200 of 252 versions')]);
});

test('assistants: answers of history and changes end at a million characters, and go on where they ended', async () => {
  const mirror = freshMirror();
  seedSource(mirror, 1, { name: 'acme', rows_held: 1 });
  const blockers = JSON.stringify(['x'.repeat(20_000)]);
  seedInvestment(mirror, 1, 'inv_1', { change_seq: 101, valid_from: at(101), blockers });
  for (let seq = 1; seq <= 100; seq += 1) {
    const ended = { valid_to: at(seq + 1), ended_by: 'update' } as const;
    seedHistory(mirror, 1, 'inv_1', { change_seq: seq, valid_from: at(seq), ...ended, blockers });
  }
  for (let seq = 1; seq <= 101; seq += 1)
    seedRow(mirror, 'change_rows', {
      ...{ source_no: 1, id: 'inv_1', kind: seq === 1 ? 'added' : 'changed', at: at(seq) },
      ...(seq === 1 ? {} : { fields: '["blockers"]' }),
    });
  const talk = await talkTo({ kind: 'sqlite', file: mirror.file });
  const read = async (tool: string, args: object) => {
    const { text } = await talk.call(tool, { ...args });
    expect(text.length).toBeLessThan(1_001_000);
    return JSON.parse(text);
  };
  const history = await read('history', { id: 'inv_1' });
  expect(history.versions[0].valid_to).toBeNull();
  expect(history.notes).toEqual([
    expect.stringContaining(`newest ${history.versions.length} of 101 versions`),
  ]);
  const newest = await read('changes', { limit: 500 });
  expect(newest).toMatchObject({ next_since: 101, more: false, notes: [expect.stringContaining('fit')] });
  const seen: number[] = [];
  for (let since = 0, more = true; more; ) {
    const part = await read('changes', { since, limit: 500 });
    seen.push(...part.changes.map(({ seq }: { seq: number }) => seq));
    ({ next_since: since, more } = part);
  }
  expect(seen).toEqual(Array.from({ length: 101 }, (_, index) => index + 1));
});

test('assistants: a query that was cancelled ends, and the next one is answered', async () => {
  const talk = await talkTo(mirrorWithHistory());
  const endless = 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n';
  const cancel = new AbortController();
  const cancelled = expect(talk.call('query', { sql: endless }, cancel.signal)).rejects.toThrow();
  // The server handles requests in order, so the query has begun when this one is answered.
  await talk.call('describe_schema');
  cancel.abort();
  await cancelled;
  // Both places are free again once the process of the cancelled query has ended.
  const both = () => Promise.all([1, 2].map((n) => talk.call('query', { sql: `SELECT ${n} AS n` })));
  await expect.poll(async () => (await both()).map(({ failed }) => failed)).toEqual([false, false]);
});

test('assistants: a third query at the same time is refused with what to do', async () => {
  const talk = await talkTo(mirrorWithHistory());
  const endless = 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n';
  const cancel = new AbortController();
  const running = [1, 2].map(() => talk.call('query', { sql: endless }, cancel.signal).catch(() => null));
  const third = await talk.call('query', { sql: 'SELECT 1' });
  expect(third).toMatchObject({
    failed: true,
    text: expect.stringContaining('two queries are running already'),
  });
  cancel.abort();
  await Promise.all(running);
});

test('assistants: a mirror that does not exist yet is an error of each tool, with what to do', async () => {
  const talk = await talkTo({ kind: 'sqlite', file: join(tempFolder(), 'mirror.db') });
  for (const tool of ['query', 'status', 'changes']) {
    const { text, failed } = await talk.call(tool, tool === 'query' ? { sql: 'SELECT 1' } : {});
    expect([tool, failed, text]).toEqual([tool, true, expect.stringContaining('rosterd sync')]);
  }
});

test('assistants: without the optional package of the protocol, the command says what to install', async () => {
  const error = Object.assign(
    new Error("Cannot find package '@modelcontextprotocol/server' imported from x"),
    {
      code: 'ERR_MODULE_NOT_FOUND',
    },
  );
  const parts = {
    location: mirrorWithHistory(),
    config: null,
    identity: false,
    clock: systemClock,
    logger: silentLogger,
    version: '0.0.0-test',
  };
  const streams = { stdin: Readable.from([]), stdout: new PassThrough() };
  const signal = new AbortController().signal;
  await expect(serveAssistant(parts, streams, signal, () => Promise.reject(error))).rejects.toMatchObject({
    code: 'usage',
    about: { hint: 'npm install @modelcontextprotocol/server' },
  });
});

test('assistants: stdout has messages of the protocol only, and the command ends when stdin does', async () => {
  const { file } = mirrorWithHistory();
  const child = spawn(process.execPath, [program, 'mcp', '--database', file, '--log-level', 'debug'], {
    cwd: tempFolder(),
    env: programEnv,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const say = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const answer = async () => JSON.parse((await lines.next()).value ?? '');
  const clientInfo = { name: 'test', version: '1' };
  say({
    ...{ id: 1, method: 'initialize' },
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
  });
  expect(await answer()).toMatchObject({
    id: 1,
    result: { serverInfo: { name: 'rosterd' }, instructions: expect.stringContaining('whole cents') },
  });
  say({ method: 'notifications/initialized' });
  child.stdin.write('this is no message\n');
  say({ id: 2, method: 'tools/call', params: { name: 'query', arguments: { sql: 'SELECT 1 AS one' } } });
  expect(await answer()).toMatchObject({ id: 2, result: { content: [{ type: 'text' }] } });
  child.stdin.end();
  expect((await lines.next()).done).toBe(true);
  expect(await closed).toEqual([0, null]);
  expect(log.split('\n').filter((line) => line !== '' && JSON.parse(line).component !== 'mcp')).toEqual([]);
  expect(log).toContain('"type":"query"');
  expect(log).not.toContain('SELECT');
});

test('assistants: a wrong configuration ends the command with exit code 2, and nothing on stdout', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'config.json'), '{"sources": []}');
  const { code, out, err } = await rosterd(['mcp'], fakeIo({ cwd }));
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('config.json');
});
