import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { PlatformEvent } from '../../../src/platform/events.js';
import { startActivity } from '../../../src/platform/sandbox/activity.js';
import { startSandbox } from '../../../src/platform/sandbox/sandbox.js';
import { one } from '../../../src/platform/state/statements.js';
import { exampleShape, shapeOf } from '../../conformance/event-shapes.js';
import {
  company,
  type RunningPlatform,
  startNewlySeeded,
  user,
  worldStart,
} from '../../conformance/running-platform.js';
import { manualClock } from '../../support/manual-clock.js';
import { copyApart } from '../../support/read-apart.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startNewlySeeded();
});
afterEach(() => world.close());

const token = () => company(world).token;
const withPii = { scopes: new Set(['read:investors:pii']), kind: 'company' } as const;
const listen = () => {
  const heard: PlatformEvent[] = [];
  world.services.events.subscribe((event) => heard.push(event));
  return heard;
};
const invest = async (set: unknown = {}): Promise<string> =>
  (await world.control('POST', '/investments', { company: company(world).id, set })).body.ids[0];

test('GET /_sandbox returns the ready document', async () => {
  const { status, body } = await world.control('GET', '');
  expect(status).toBe(200);
  expect(body).toEqual(JSON.parse(JSON.stringify(world.ready)));
  expect(body).toMatchObject({ event: 'ready', baseUrl: world.url, control: `${world.url}/_sandbox` });
  expect(body.companies[0].investments).toBe(12);
});

test('the control API rejects requests from a web page', async () => {
  const answer = await world.send('GET', '/_sandbox', { headers: { origin: 'https://evil.example' } });
  expect(answer.status).toBe(403);
  expect(JSON.stringify(answer.body)).not.toContain('at_test_');
});

test.each([
  ['127.0.0.1:4010', 200],
  ['[::1]:4010', 200],
  ['localhost:4010', 200],
  ['sandbox.localhost', 200],
  ['sandbox', 200],
  ['rebound.evil.example:4010', 403],
  ['127.0.0.1.evil.example', 403],
  ['localhost.', 403],
  ['not a host', 403],
])('the control API rejects DNS rebinding: Host %s returns %i', async (host, status) => {
  const { hostname, port } = new URL(world.url);
  const answered = await new Promise<number | undefined>((resolve, reject) => {
    get({ hostname, port, path: '/_sandbox', headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
  expect(answered).toBe(status);
});

test('control: a change of an investment emits its events with their payload', async () => {
  const heard = listen();
  const names = () => heard.splice(0).map((event) => event.name);
  const withoutPii = { scopes: new Set<string>(), kind: 'company' } as const;
  const id = await invest({ amounts: { committed_cents: 250_050 } });
  const created = heard[0]?.dataFor(withPii);
  expect(created).toMatchObject({
    id,
    status: 'active',
    amounts: { committed: 2500.5 },
    investor: { id: expect.stringMatching(/^usr_/), name: expect.any(String), email: expect.any(String) },
    investor_totals: { active_investment_count: 1, total_committed: 2500.5, investor_status: 'active' },
    occurred_at: '2026-11-02T09:00:00.000000Z',
  });
  expect(shapeOf(created)).toEqual(exampleShape('investment.created'));
  expect(shapeOf(heard[0]?.dataFor(withoutPii))).toEqual(exampleShape('investment.created', false));
  expect(heard[0]?.dataFor({ scopes: new Set(), kind: 'user' })).not.toHaveProperty('investor.email');
  expect(heard[0]?.dataFor({ scopes: new Set(), kind: 'user' })).not.toHaveProperty('investor_totals');
  expect(heard[1]?.dataFor(withPii)).toEqual({
    id,
    visible: true,
    company: company(world).id,
    reason: 'changed',
    observed_at: '2026-11-02T09:00:00.000Z',
    first: true,
    fields: [],
  });
  expect(names()).toEqual(['investment.created', 'investment.changed']);
  await world.control('PATCH', `/investments/${id}`, { amounts: { committed_cents: 100_000 } });
  expect(heard[0]?.dataFor(withPii)).toMatchObject({ previous_amounts: { committed: 2500.5 } });
  expect(heard[1]?.dataFor(withPii)).toMatchObject({
    first: false,
    fields: expect.arrayContaining(['amounts']),
  });
  expect(names()).toEqual(['investment.amount_changed', 'investment.changed']);
  await world.control('PATCH', `/investments/${id}`, { status: 'canceled' });
  expect(heard[0]?.dataFor(withPii)).toMatchObject({ canceled_at: '2026-11-02T09:00:00.000Z' });
  expect(shapeOf(heard[0]?.dataFor(withPii))).toEqual(exampleShape('investment.canceled'));
  expect(heard[1]?.dataFor(withPii)).toMatchObject({ visible: false });
  expect(names()).toEqual(['investment.canceled', 'investment.changed']);
  await world.control('PATCH', `/investments/${id}`, { status: 'executed' });
  expect(heard[1]?.dataFor(withPii)).not.toHaveProperty('occurred_at');
  expect(names()).toEqual(['investment.reinstated', 'investment.executed', 'investment.changed']);
  const successor = await invest();
  heard.splice(0);
  await world.control('PATCH', `/investments/${id}`, { status: 'converted', converted_to: successor });
  expect(heard[0]?.dataFor(withPii)).toMatchObject({ converted_to: successor });
  expect(names()).toEqual(['investment.converted', 'investment.changed', 'investment.changed']);
  await world.control('PATCH', `/investments/${successor}`, { group: 'NO PAYMENT YET' });
  expect(names()).toEqual([]);
});

test('control: an event and its cause commit together, so a rejected change leaves no delivery', async () => {
  const id = await invest();
  const refused = await world.control('PATCH', `/investments/${id}`, {
    message: 'x',
    offering: 'ofr_unknown',
  });
  expect(refused.status).toBe(400);
  expect((await world.get(`/investments/${id}`, { token: token() })).body.data.message).not.toBe('x');
});

test('control: PATCH merges into the record, including unknown fields', async () => {
  world.expectUndeclared();
  const id = await invest({ investor: { name: 'Ünï Cödé', address: { city: 'Here', country: 'Nowhere' } } });
  const patch = {
    future: { a: 1 },
    amounts: { fee_cents: 12 },
    investor: { address: { city: 'There' }, email: null },
  };
  expect((await world.control('PATCH', `/investments/${id}`, patch)).status).toBe(200);
  const record = (await world.get(`/investments/${id}`, { token: token() })).body.data;
  expect(record).toMatchObject({
    future: { a: 1 },
    amounts: { fee_cents: 12, currency: 'usd' },
    investor: { name: 'Ünï Cödé', email: null, address: { city: 'There', country: 'Nowhere' } },
  });
  await world.control('PATCH', `/investments/${id}`, { investor: { email: 'new@people.example' } });
  expect((await world.get(`/investments/${id}`, { token: token() })).body.data.investor.email).toBe(
    'new@people.example',
  );
});

test('control: invalid input returns a 400 that names the field', async () => {
  const id = await invest();
  for (const [method, path, body, word] of [
    ['POST', '/investments', { company: 'co_unknown' }, 'co_unknown'],
    ['POST', '/investments', { company: company(world).id, count: 0 }, 'count'],
    ['POST', '/investments', { company: company(world).id, set: { status: 'odd' } }, 'status'],
    ['PATCH', `/investments/${id}`, { amounts: { committed_cents: 'many' } }, 'committed_cents'],
    ['PATCH', `/investments/${id}`, { id: 'inv_other' }, 'id'],
    ['POST', '/churn', { changes: -1 }, 'changes'],
    ['POST', '/clock', { advance: 5 }, 'body'],
    ['POST', '/clock', { advanceSeconds: -5 }, 'advanceSeconds'],
    ['POST', '/clock', { advanceSeconds: 1e300 }, 'advanceSeconds'],
    ['POST', '/clock', { advanceSeconds: 'x' }, 'advanceSeconds'],
    ['POST', '/clock', { advanceSecond: 5 }, 'advanceSecond'],
    ['POST', '/faults', [{ path: '/a', action: { status: '500' } }], '0.action.status'],
    ['POST', '/faults', [{ path: '/a', times: 0, action: { status: 500 } }], '0.times'],
    ['POST', '/faults', { action: { status: 500 } }, 'path'],
    ['POST', '/faults', 'none', 'body'],
    ['POST', '/clock', { now: 'tomorrow' }, 'now'],
    ['POST', '/clock', { now: '9999-12-31T23:59:59-01:00' }, 'year 9999'],
    ['POST', '/faults', [{ path: '/x', action: {} }], 'action'],
    ['POST', '/faults', { path: '/x', action: { status: 101 } }, 'action.status'],
    ['POST', '/faults', { path: '/x', action: { status: 200, headers: { a: 'b\nc' } } }, 'action.headers'],
    ['POST', '/faults', { path: '/x', action: { status: 200, headers: { 'a b': 'c' } } }, 'action.headers'],
  ] as const) {
    const answer = await world.control(method, path, body);
    expect([path, answer.status]).toEqual([path, 400]);
    expect(answer.body.error.message).toContain(word);
  }
  expect((await world.send('POST', '/_sandbox/churn', { body: '{' })).status).toBe(400);
  for (const path of [
    '/investments/inv_unknown',
    '/users/usr_unknown/deactivate',
    '/installations/inst_unknown/revoke',
  ]) {
    const method = path.startsWith('/investments') ? 'DELETE' : 'POST';
    expect((await world.control(method, path)).status).toBe(404);
  }
});

test('control: an email of another account is rejected regardless of case', async () => {
  const [one, other] = [await invest({ investor: { email: 'only@people.example' } }), await invest()];
  const emailOf = async (id: string) =>
    (await world.get(`/investments/${id}`, { token: token() })).body.data.investor.email;
  const before = await emailOf(other);
  for (const email of ['only@people.example', 'Only@People.Example', 'deleted1@users.invalid']) {
    const set = { investor: { email } };
    for (const answer of [
      await world.control('POST', '/investments', { company: company(world).id, set }),
      await world.control('PATCH', `/investments/${other}`, set),
    ]) {
      expect([answer.status, answer.body.error.type]).toEqual([422, 'unprocessable_entity']);
      expect(answer.body.error.message).toContain('investor.email');
    }
  }
  expect(await emailOf(other)).toBe(before);
  const own = { investor: { email: 'ONLY@people.example' } };
  expect((await world.control('PATCH', `/investments/${one}`, own)).status).toBe(200);
});

describe('closed accounts', () => {
  const closed = async () => {
    const { id } = user(world, 4);
    const investment = await invest({ investor: { id } });
    await world.control('POST', `/users/${id}/deactivate`);
    return { id, investment };
  };
  const everyByte = () => world.services.state.serialize().toString('latin1');

  test.each([
    { investor: { name: 'Back Again' } },
    { investor: { nickname: 'Back Again' } },
    { message: 'Back Again' },
    { external_username: 'Back Again' },
  ])('a closed account rejects a patch that sets identity: %j', async (set) => {
    const { id, investment } = await closed();
    expect((await world.control('PATCH', `/investments/${investment}`, set)).status).toBe(400);
    const invested = await world.control('POST', '/investments', {
      company: company(world).id,
      set: { ...set, investor: { ...set.investor, id } },
    });
    expect(invested.status).toBe(400);
    expect(invested.body.error.message).toContain('closed');
    expect(everyByte()).not.toContain('Back Again');
  });

  test('a closed account keeps investments, which can still be changed and recomputed', async () => {
    const { investment } = await closed();
    const patch = { amounts: { committed_cents: 777_700 }, message: null };
    expect((await world.control('PATCH', `/investments/${investment}`, patch)).status).toBe(200);
    const { body } = await world.get(`/investments/${investment}`, { token: token() });
    expect(body.data).toMatchObject({
      amounts: { committed_cents: 777_700 },
      investor: { deactivated: true },
    });
  });
});

test('control: tokens of a revoked installation return 401', async () => {
  expect((await world.control('POST', `/installations/${company(world).installation}/revoke`)).status).toBe(
    200,
  );
  expect((await world.get('/investments', { token: token() })).status).toBe(401);
  expect((await world.get('/investments', { token: company(world, 1).token })).status).toBe(200);
});

test('control: the clock moves by seconds or to a time, and the Date header shows it', async () => {
  expect((await world.control('POST', '/clock', { advanceSeconds: 7200 })).body).toEqual({
    now: '2026-11-02T11:00:00.000Z',
  });
  await world.control('POST', '/clock', { now: '2027-01-01T00:00:00Z' });
  const { headers } = await world.get('/investments', { token: token() });
  expect(headers.get('date')).toBe('Fri, 01 Jan 2027 00:00:00 GMT');
});

test('control: faults apply to matching requests, respecting after and times', async () => {
  world.expectUndeclared();
  const ask = async () => (await world.get('/investments?per_page=1', { token: token() })).status;
  await world.control('POST', '/faults', [
    { method: 'GET', path: '/investments', after: 1, times: 2, action: { status: 503 } },
  ]);
  expect([await ask(), await ask(), await ask(), await ask()]).toEqual([200, 503, 503, 200]);
  await world.control('POST', '/faults', {
    path: '/inv*',
    action: { status: 429, headers: { 'X-Extra': 'yes' } },
  });
  const limited = await world.get('/investments', { token: token() });
  expect([limited.status, limited.body.error.type]).toEqual([429, 'rate_limit_exceeded']);
  expect(limited.headers.get('x-extra')).toBe('yes');
  expect(limited.headers.get('x-ratelimit-reset')).toEqual(expect.any(String));
  await world.control('POST', '/faults', { path: '/investments/{id}', times: 5, action: { status: 500 } });
  expect(await ask()).toBe(200);
  expect((await world.get('/investments/inv_x', { token: token() })).status).toBe(500);
  await world.control('DELETE', '/faults');
  expect((await world.get('/investments/inv_x', { token: token() })).status).toBe(404);
});

test('control: drop closes the connection before the request is processed, truncate after it', async () => {
  const requests = async () => (await world.control('GET', '/requests')).body.requests;
  await world.control('POST', '/faults', [{ path: '/investments', action: { drop: true } }]);
  await expect(world.get('/investments', { token: token() })).rejects.toThrow();
  await world.control('POST', '/faults', [{ path: '/investments', action: { truncate: 40 } }]);
  await expect(world.get('/investments', { token: token() })).rejects.toThrow();
  expect((await requests()).map((entry: { status: number }) => entry.status)).toEqual([0, 200]);
  expect((await world.get('/investments', { token: token() })).status).toBe(200);
});

test('control: a sandbox that closes ends the delay of a fault, and does not process its request', async () => {
  const clock = manualClock(worldStart);
  const delayed = await startNewlySeeded({ clock });
  const logged = vi.spyOn(delayed.services.logger, 'error');
  onTestFinished(() => logged.mockRestore());
  const waits = clock.waiting;
  await delayed.control('POST', '/faults', { path: '/explore', action: { delayMs: 3_600_000 } });
  const cut = delayed.get('/explore', { token: token() }).catch(() => 'cut');
  await expect.poll(() => clock.waiting).toBe(waits + 1);
  await delayed.close();
  expect(await cut).toBe('cut');
  expect(clock.waiting).toBe(0);
  expect(logged).not.toHaveBeenCalled();
});

test('control: webhook faults apply to deliveries only', async () => {
  await world.control('POST', '/faults', [
    { path: 'webhook', times: 2, action: { drop: true } },
    { path: 'webhook', action: { duplicate: true, delayMs: 5 } },
  ]);
  expect((await world.get('/webhook', { token: token() })).status).toBe(404);
  const { hazards } = world.services;
  expect([1, 2, 3, 4].map(() => hazards.forDelivery('investment.changed'))).toEqual([
    { drop: true },
    { drop: true },
    { duplicate: true, delayMillis: 5 },
    null,
  ]);
});

test('control: the request ledger records requests and token numbers, never tokens', async () => {
  await world.get('/investments?per_page=3', { token: token() });
  await world.get('/nowhere');
  const { body } = await world.control('GET', '/requests');
  expect(body.requests).toEqual([
    {
      seq: 1,
      method: 'GET',
      path: '/investments',
      query: { per_page: '3' },
      status: 200,
      tokenId: expect.stringMatching(/^token:\d+$/),
      at: '2026-11-02T09:00:00.000Z',
    },
    expect.objectContaining({ seq: 2, path: '/nowhere', status: 404, tokenId: null }),
  ]);
  expect(JSON.stringify(body)).not.toContain(token());
  expect((await world.control('GET', '/requests?since=1')).body.requests).toHaveLength(1);
  expect((await world.control('GET', '/requests?since=soon')).status).toBe(400);
});

test('control: reset restores records, tokens, clock, faults and ledger to the seed', async () => {
  const before = (await world.get('/investments?per_page=100', { token: token() })).body.data;
  await world.control('POST', '/churn', { changes: 40 });
  await world.control('POST', `/users/${user(world, 4).id}/deactivate`);
  await world.control('POST', '/faults', [{ path: '*', times: 9, action: { status: 500 } }]);
  await world.control('POST', '/clock', { advanceSeconds: 1_000_000 });
  expect((await world.control('POST', '/reset')).body).toEqual(JSON.parse(JSON.stringify(world.ready)));
  const after = await world.get('/investments?per_page=100', { token: token() });
  expect(after.body.data).toEqual(before);
  expect((await world.control('GET', '/requests')).body.requests).toHaveLength(1);
});

test('control: churn makes the requested number of changes, only in the requested company', async () => {
  const elsewhere = (await world.get('/investments?per_page=100', { token: company(world, 1).token })).body
    .data;
  const { body } = await world.control('POST', '/churn', { changes: 60, company: company(world).id });
  expect(body.ids).toHaveLength(60);
  const after = (await world.get('/investments?per_page=100', { token: company(world, 1).token })).body.data;
  expect(after).toEqual(elsewhere);
});

test('control: churn raises no commitment beyond 2^53', async () => {
  const largest = Number.MAX_SAFE_INTEGER;
  const all = async () =>
    (await world.get('/investments?per_page=100', { token: token() })).body.data as {
      id: string;
      amounts: { committed_cents: number };
    }[];
  for (const { id } of await all())
    await world.control('PATCH', `/investments/${id}`, { amounts: { committed_cents: largest } });
  await world.control('POST', '/churn', { changes: 250, company: company(world).id });
  const amounts = (await all()).map(({ amounts: { committed_cents: cents } }) => cents);
  expect(amounts.filter((cents) => cents > largest)).toEqual([]);
  // Those that churn would have raised.
  expect(amounts.filter((cents) => cents > largest / 2 && cents < largest).length).toBeGreaterThan(0);
});

/** A program that prints why it cannot read a database. */
const lockOf = `
  import Sqlite from 'better-sqlite3';
  const database = new Sqlite(process.argv[1], { timeout: 0 });
  try { database.prepare('SELECT * FROM sqlite_schema').all(); } catch (error) { process.stdout.write(error.code); }
`;

test('sandbox: a data file has one process at a time, and is free again once that closes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-sandbox-'));
  const dataFile = join(folder, 'world.db');
  try {
    const first = await startNewlySeeded({ dataFile });
    await expect(startSandbox({ dataFile })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('in use by another process'),
    });
    expect((await first.control('POST', '/churn', { changes: 5 })).status).toBe(200);
    // The refused one left the lock of the first.
    const other = execFileSync(process.execPath, ['--input-type=module', '-e', lockOf, dataFile]);
    expect(other.toString()).toBe('SQLITE_BUSY');
    await first.close();
    const second = await startNewlySeeded({ dataFile });
    expect((await second.control('POST', '/reset')).status).toBe(200);
    await expect(startSandbox({ dataFile })).rejects.toMatchObject({ code: 'usage' });
    await second.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  ['of another program', 'CREATE TABLE notes (text TEXT)'],
  ['with migrations of its own', 'CREATE TABLE migrations (number INTEGER, name TEXT, checksum TEXT)'],
  [
    'of a mirror',
    "CREATE TABLE migrations (name TEXT, checksum TEXT); CREATE TABLE rows (id); INSERT INTO migrations VALUES ('mirror', '')",
  ],
])('sandbox: a database %s is refused as its data file and stays as it is', async (_, sql) => {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-sandbox-'));
  const dataFile = join(folder, 'other.db');
  try {
    const other = new Sqlite(dataFile);
    other.exec(sql);
    other.close();
    const before = readFileSync(dataFile);
    await expect(startSandbox({ dataFile })).rejects.toMatchObject({
      code: 'usage',
      message: `--data: ${dataFile} is a database, but not of a sandbox`,
    });
    expect(readFileSync(dataFile)).toEqual(before);
    expect(readdirSync(folder)).toEqual(['other.db']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('sandbox: a pipe is refused as its data file, and not waited for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-sandbox-'));
  const dataFile = join(folder, 'pipe');
  try {
    execFileSync('mkfifo', [dataFile]);
    await expect(startSandbox({ dataFile })).rejects.toMatchObject({
      code: 'usage',
      message: `--data: ${dataFile} is not an ordinary file`,
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('sandbox: a refused database keeps its write-ahead log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-sandbox-'));
  const dataFile = join(folder, 'copy.db');
  try {
    const other = new Sqlite(join(folder, 'other.db'));
    other.pragma('journal_mode = WAL');
    other.exec('CREATE TABLE notes (text TEXT)');
    // As a killed program leaves them.
    for (const end of ['', '-wal']) copyApart(join(folder, `other.db${end}`), `${dataFile}${end}`);
    other.close();
    const contents = () => ['', '-wal'].map((end) => readFileSync(`${dataFile}${end}`));
    const before = contents();
    await expect(startSandbox({ dataFile })).rejects.toThrow('not of a sandbox');
    expect(contents()).toEqual(before);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('sandbox: a data file keeps changes and clock across a restart and rejects a different plan', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-sandbox-'));
  const dataFile = join(folder, 'world.db');
  try {
    const first = await startNewlySeeded({ dataFile });
    const { body } = await first.control('POST', '/investments', { company: company(first).id });
    first.clock.advance(5000);
    await first.close();
    expect(statSync(dataFile).mode & 0o077).toBe(0);
    const second = await startNewlySeeded({ dataFile });
    expect(second.world.document).toEqual(first.world.document);
    expect(second.clock.now()).toBe(first.clock.now());
    const kept = await second.get(`/investments/${body.ids[0]}`, { token: company(second).token });
    expect(kept.status).toBe(200);
    await second.close();
    expect(readdirSync(folder)).toEqual(['world.db']);
    await expect(startSandbox({ dataFile, seed: 77 })).rejects.toMatchObject({ code: 'usage' });
    await expect(startSandbox({ dataFile, records: 13 })).rejects.toThrow('records 12');
    await expect(startSandbox({ dataFile, installed: 0.5 })).rejects.toThrow('installed 1, not 0.5');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('sandbox: activity makes a change after every pause and stops when closed', async () => {
  const numbers = () => one<{ head: number }>(world.services.state, 'SELECT head FROM feed')?.head ?? 0;
  const before = numbers();
  const activity = startActivity(world.services, 1000);
  for (let turn = 0; numbers() < before + 40 && turn < 1000; turn += 1) {
    world.clock.advance(1500);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(numbers()).toBeGreaterThanOrEqual(before + 40);
  await activity.close();
  const stopped = numbers();
  world.clock.advance(10_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(numbers()).toBe(stopped);
});
