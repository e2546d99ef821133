import { createHash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { Diagnosis } from '../../src/doctor/doctor.js';
import { nodeCheck } from '../../src/doctor/machine-checks.js';
import { clockCheck } from '../../src/doctor/platform-checks.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { systemClock } from '../../src/runtime/clock.js';
import { partsFor } from '../daemon/daemon-fixture.js';
import { tempFolder } from '../store/temp-folder.js';
import { controlOf } from '../support/control-sandbox.js';
import { freePort } from '../support/free-port.js';
import { placeMigrated } from '../support/migrated-file.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';
import { fakeIo, rosterd, stopped } from './fake-io.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSeededSandbox({ records: 60, companies: 1 });
});
afterAll(() => sandbox.close());

interface Office {
  readonly folder: string;
  readonly database: string;
  /** Replaces settings of the configuration. */
  configure(change: Record<string, unknown>): void;
  sql(...statements: string[]): void;
  doctor(): Promise<{ code: number; diagnosis: Diagnosis; err: string }>;
  text(): Promise<string>;
}

/** What the first office with a mirror read from the platform; the others get a copy. */
let filled: Buffer | undefined;

interface Machine {
  readonly platform?: Sandbox;
  /** False where a test needs none: a check of a file starts processes that read it. */
  readonly mirror?: boolean | undefined;
}

/** A configured machine with an up-to-date mirror, where every check passes until a test breaks something. */
async function office({ platform = sandbox, mirror = true }: Machine = {}): Promise<Office> {
  const folder = tempFolder();
  const [company] = platform.ready.companies;
  const tokenFile = join(folder, 'acme.token');
  writeFileSync(tokenFile, company?.token ?? '', { mode: 0o600 });
  const settings = {
    platform: { baseUrl: platform.ready.baseUrl },
    database: 'sqlite:mirror.db',
    sources: [
      { name: 'acme', token: { file: tokenFile }, company: company?.id, installation: company?.installation },
    ],
    console: null,
    receiver: { listen: `127.0.0.1:${await freePort()}`, secrets: [{ env: 'HOOK' }] },
  };
  const file = join(folder, 'config.json');
  const configure = (change: Record<string, unknown>) =>
    writeFileSync(file, JSON.stringify({ ...settings, ...change }));
  configure({});
  const io = () =>
    fakeIo({ cwd: folder, env: { HOOK: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0' }, clock: systemClock });
  const database = join(folder, 'mirror.db');
  const sql: Office['sql'] = (...statements) => {
    const raw = new Sqlite(database);
    for (const statement of statements) raw.exec(statement);
    raw.close();
  };
  if (mirror && filled === undefined) {
    placeMigrated(database);
    expect((await rosterd(['sync'], io())).code).toBe(0);
    filled = readFileSync(database);
  } else if (mirror && filled !== undefined) {
    writeFileSync(database, filled, { mode: 0o600 });
    // The tests before may have taken so long that the source would be overdue.
    sql(`UPDATE sources SET last_tick_at = '${past(0)}'`);
  }
  return {
    folder,
    database,
    configure,
    sql,
    doctor: async () => {
      const { code, out, err } = await rosterd(['doctor', '--json'], io());
      return { code, diagnosis: JSON.parse(out) as Diagnosis, err };
    },
    text: async () => (await rosterd(['doctor'], io())).out,
  };
}

const bytesIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => !name.endsWith('-shm'))
    .map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]);

test('doctor on a healthy machine runs over twenty checks, none fails, and nothing changes', async () => {
  const { folder, doctor } = await office();
  const before = bytesIn(folder);
  const { code, diagnosis } = await doctor();
  expect(diagnosis.checks.filter(({ verdict }) => verdict === 'fail' || verdict === 'warn')).toEqual([]);
  expect(code).toBe(0);
  expect(diagnosis.healthy).toBe(true);
  expect(diagnosis.checks.length).toBeGreaterThanOrEqual(30);
  expect(diagnosis.checks.filter(({ verdict }) => verdict === 'pass').length).toBeGreaterThanOrEqual(20);
  expect(new Set(diagnosis.checks.map(({ name }) => name)).size).toBe(diagnosis.checks.length);
  expect(bytesIn(folder)).toEqual(before);
});

test('doctor finds a running daemon and reports no problem', async () => {
  const { folder, doctor, configure } = await office();
  configure({ console: { listen: `127.0.0.1:${await freePort()}` } });
  const { config } = loadConfig({ cwd: folder, env: { HOOK: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0' } });
  const daemon = await startDaemon(partsFor(config));
  onTestFinished(() => daemon.close());
  await daemon.engine.sync.idle();
  const { code, diagnosis } = await doctor();
  expect(code).toBe(0);
  for (const port of ['receiver.port', 'console.port'])
    expect(diagnosis.checks.find(({ name }) => name === port)?.message).toContain('the daemon runs');
  // The same ports in the configuration of another mirror.
  const other = await office({ mirror: false });
  const at = ({ host, port } = { host: '', port: 0 }) => `${host}:${port}`;
  other.configure({
    console: { listen: at(config.console?.listen) },
    receiver: { listen: at(config.receiver?.listen), secrets: [{ env: 'HOOK' }] },
  });
  const elsewhere = await other.doctor();
  for (const port of ['receiver.port', 'console.port'])
    expect(elsewhere.diagnosis.checks.find(({ name }) => name === port)).toMatchObject({
      verdict: 'warn',
      message: expect.stringMatching(/is in use by a rosterd that does not work on this database$/),
      mend: expect.stringMatching(/^ss -ltnp/),
    });
  // A file of a daemon that this user may not read, for example: it may be the one that answers.
  writeFileSync(`${other.database}.daemon-7-strange.json`, '{');
  const unknown = await other.doctor();
  for (const port of ['receiver.port', 'console.port'])
    expect(unknown.diagnosis.checks.find(({ name }) => name === port)?.verdict).toBe('pass');
});

test('doctor checks a platform even if its clock is wrong', async () => {
  const platform = await startSeededSandbox({ records: 5, companies: 1 });
  onTestFinished(() => platform.close());
  const { doctor } = await office({ platform, mirror: false });
  const moved = await fetch(`${platform.ready.control}/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ advanceSeconds: 600 }),
  });
  expect(moved.ok).toBe(true);
  const { diagnosis } = await doctor();
  const verdicts = Object.fromEntries(diagnosis.checks.map(({ name, verdict }) => [name, verdict]));
  expect(verdicts).toMatchObject({ 'platform.clock': 'fail', 'token.acme': 'pass', 'scopes.acme': 'pass' });
});

test('doctor does not say that clocks agree when no response of the platform had a date', async () => {
  const undated = createServer((_, response) => {
    response.sendDate = false;
    response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => undated.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void undated.close());
  const { port } = undated.address() as AddressInfo;
  const { doctor, configure } = await office({ mirror: false });
  configure({ platform: { baseUrl: `http://127.0.0.1:${port}` } });
  const { diagnosis } = await doctor();
  const verdicts = Object.fromEntries(diagnosis.checks.map(({ name, verdict }) => [name, verdict]));
  expect(verdicts).toMatchObject({ 'platform.api': 'pass', 'platform.clock': 'skip' });
});

test('doctor reports each damaged table as a failed check, and runs the others', async () => {
  const { database, doctor } = await office();
  for (const table of ['investment_rows', 'leases', 'budgets']) spoil(database, table);
  const { code, diagnosis } = await doctor();
  const verdicts = Object.fromEntries(diagnosis.checks.map(({ name, verdict }) => [name, verdict]));
  expect(code).toBe(1);
  expect(verdicts).toMatchObject({
    'database.integrity': 'fail',
    'database.holders': 'fail',
    'budget.acme': 'fail',
    'token.acme': 'pass',
    'receiver.port': 'pass',
  });
  for (const name of ['database.integrity', 'database.holders'])
    expect(diagnosis.checks.find((check) => check.name === name)?.mend).toMatch(
      /aside.*(?:rosterd sync|rebuilds itself)/,
    );
});

test('doctor that a signal stops reports no check as failed, and ends with exit code 5', async () => {
  const { folder } = await office();
  const io = fakeIo({
    cwd: folder,
    env: { HOOK: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0' },
    clock: systemClock,
    ...stopped,
  });
  expect(await rosterd(['doctor'], io)).toMatchObject({
    code: 5,
    out: '',
    err: expect.stringContaining('error: the checks were stopped before their end\n'),
  });
});

test('doctor lists the problems of a configuration one a line', async () => {
  const { text, configure } = await office({ mirror: false });
  configure({ sync: { perPage: 5_000 }, log: { level: 'loud' } });
  const lines = (await text()).split('\n');
  const at = lines.findIndex((line) => /^fail {2}\S+: the configuration has 2 problems:$/.test(line));
  expect(at).not.toBe(-1);
  expect(lines.slice(at + 1, at + 3)).toEqual([
    expect.stringMatching(/^ {6}\S.*sync\.perPage: is 5000/),
    expect.stringMatching(/^ {6}\S.*log\.level: is "loud"/),
  ]);
});

test('doctor prints one line per check, and the command to run below each problem', async () => {
  const { folder, text } = await office({ mirror: false });
  const secret = join(folder, 'acme.token');
  chmodSync(secret, 0o644);
  const out = await text();
  expect(out).toMatch(/^fail {2}secrets:/m);
  expect(out).toContain(`      Try: chmod 600 ${secret}\n`);
  expect(out).toMatch(/^\d+ pass, 1 warn, 2 fail, \d+ skip$/m);
});

const past = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

type Finding = readonly [check: string, verdict: 'warn' | 'fail', mend: RegExp, message?: RegExp];

/** Problems that a machine can have at the same time: each is found beside the others. */
interface Breakage extends Machine {
  readonly finds: readonly Finding[];
  readonly how: (office: Office) => unknown;
}

/** Damages pages with rows, so that the file can still be opened and identified. */
function spoil(database: string, table: string): void {
  const reader = new Sqlite(database, { readonly: true });
  const pages = reader
    .prepare<[string], number>("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'")
    .pluck()
    .all(table);
  const size = Number(reader.pragma('page_size', { simple: true }));
  reader.close();
  const bytes = readFileSync(database);
  for (const page of pages) bytes.fill(0xee, (page - 1) * size, (page - 1) * size + 512);
  writeFileSync(database, bytes);
}

/** A server on a port that the configuration gives to rosterd. */
async function squatter(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const unsigned = { name: 'acme', credentials: { file: 'none.json', clientId: 'pk_test_1' } };

const sourceOf = (name: string, token: string | undefined, company = sandbox.ready.companies[0]?.id) => ({
  ...{ name, token, company },
});

const breakages: readonly Breakage[] = [
  {
    mirror: false,
    finds: [['config', 'fail', /rosterd config validate/]],
    how: ({ configure }) => configure({ sync: { intervalSeconds: 'often' } }),
  },
  {
    finds: [
      ['secrets', 'fail', /^chmod 600 .*acme\.token$/],
      ['credentials', 'fail', /^rosterd connect --management$/],
      ['health.acme', 'warn', /rosterd run/],
      ['notices', 'warn', /FROM alert_rows WHERE state = 'given_up'/],
    ],
    how: ({ folder, configure, sql }) => {
      const management = { credentials: { file: 'none.json', clientId: 'pk_test_1' } };
      configure({ platform: { baseUrl: sandbox.ready.baseUrl, management } });
      chmodSync(join(folder, 'acme.token'), 0o644);
      sql(
        'UPDATE sources SET identity_included = 1, names_from_generation = 9',
        `INSERT INTO alert_rows (key, source, target, body, queued_at, state, next_at) VALUES ('halted acme', 'acme', 'ops', '{}', '${past(1)}', 'given_up', '${past(1)}')`,
      );
    },
  },
  {
    finds: [
      ['credentials', 'fail', /^rosterd connect --source acme$/],
      ['token.acme', 'fail', /^rosterd connect --source acme$/],
      ['health.acme', 'fail', /^rosterd connect --source acme$/],
    ],
    how: ({ configure, sql }) => {
      configure({ sources: [unsigned] });
      sql(
        "UPDATE sources SET state = 'halted', halted_from = state, last_outcome = 'failed', last_error_code = 'reauthorize'",
      );
    },
  },
  {
    mirror: false,
    finds: [
      ['database.file', 'warn', /^rosterd sync$/],
      ['scopes.acme', 'fail', /^correct company or filters of the source/],
      ['token.other', 'fail', /^rosterd connect, or another token \(this one is written out\)$/],
    ],
    how: ({ configure }) =>
      configure({
        sources: [
          sourceOf('acme', sandbox.ready.companies[0]?.token, 'co_mistyped'),
          sourceOf('other', 'at_test_nobody0000000000000000'),
        ],
      }),
  },
  {
    finds: [
      ['database.file', 'fail', /another file under "database"/],
      ['token.acme', 'fail', /^rosterd config show$/],
      ['token.other', 'fail', /^rosterd config show$/],
    ],
    mirror: false,
    how: ({ configure, database }) => {
      const { token } = sandbox.ready.companies[0] ?? {};
      configure({
        platform: { baseUrl: `${sandbox.ready.baseUrl}/elsewhere` },
        sources: [{ name: 'acme', token }, sourceOf('other', token)],
      });
      writeFileSync(database, 'what somebody else keeps here, and it is long enough to tell '.repeat(3));
    },
  },
  {
    finds: [
      ['database.schema', 'warn', /rosterd sync/],
      ['identity.acme', 'warn', /rosterd connect/],
    ],
    how: ({ configure, sql }) => {
      configure({ sources: [sourceOf('acme', sandbox.ready.companies[0]?.tokenWithoutIdentity)] });
      sql('DELETE FROM migrations WHERE number = 5');
    },
  },
  {
    mirror: false,
    finds: [['platform.dns', 'fail', /getent hosts/]],
    how: ({ configure }) => configure({ platform: { baseUrl: 'https://nowhere.invalid' } }),
  },
  {
    mirror: false,
    finds: [['platform.tcp', 'fail', /curl -v/]],
    how: async ({ configure }) =>
      configure({ platform: { baseUrl: `http://127.0.0.1:${await freePort()}` } }),
  },
  {
    mirror: false,
    finds: [['platform.tls', 'fail', /platform\.baseUrl/]],
    how: ({ configure }) =>
      configure({ platform: { baseUrl: sandbox.ready.baseUrl.replace('http:', 'https:') } }),
  },
  {
    finds: [
      ['database.mode', 'fail', /^chmod 600 /],
      ['database.folder', 'warn', /^chmod o-w /],
      ['database.totals', 'fail', /^rosterd sync --resync$/],
      ['database.holders', 'warn', /ps /],
      ['budget.acme', 'warn', /rosterd/],
      ['health.acme', 'fail', /rosterd sync --source acme --accept-deletions/],
      ['quarantine.acme', 'warn', /FROM quarantine/],
      ['inbox', 'warn', /^rosterd run$/, /webhook waiting since/],
      ['notices', 'warn', /FROM notices WHERE state = 'pending'/, /1 notice waiting since/],
      ['erasures', 'fail', /^rosterd run$/, /scrubbed/],
    ],
    how: ({ folder, database, sql }) => {
      sql(
        'UPDATE round_rows SET raised_cents = raised_cents + 1',
        "INSERT INTO sources (name, fingerprint) VALUES ('b', 'f')",
        "INSERT OR REPLACE INTO leases SELECT no, 'host:' || no, 1, '2999-01-01T00:00:00.000Z' FROM sources",
        `UPDATE budgets SET spent = 990, window_start = '${new Date().toISOString()}'`,
        'UPDATE sources SET awaiting_deletion = 3',
        `INSERT INTO quarantine_rows (source_no, id, problem, seen_at) VALUES (1, 'inv_1', 'bad', '${past(1)}')`,
        `INSERT INTO webhook_inbox (event_id, installation, event, received_at) VALUES ('evt_1', '', 'investment.changed', '${past(1)}')`,
        `INSERT INTO notice_rows (source_no, seq, target, body, queued_at, next_at) VALUES (1, 1, 't', '{}', '${past(1)}', '${past(1)}')`,
        `INSERT INTO erasures (source_no, id, cause, invisible_at) VALUES (1, 'inv_1', 'forget', '${past(2)}')`,
      );
      chmodSync(database, 0o644);
      chmodSync(folder, 0o703);
    },
  },
  {
    finds: [
      ['receiver.port', 'fail', /^ss -ltnp/],
      ['console.port', 'fail', /^ss -ltnp/],
      ['identity.acme', 'warn', /^rosterd sync --source acme --resync$/],
      ['cursor.acme', 'warn', /rosterd sync --source acme/],
      ['notices', 'warn', /given_up/],
    ],
    how: async ({ configure, sql }) => {
      const receiver = await squatter((_, response) => response.writeHead(404).end());
      const site = await squatter((_, response) =>
        response.end('<!doctype html><title>Another program</title>'),
      );
      configure({ receiver: { listen: receiver, secrets: [{ env: 'HOOK' }] }, console: { listen: site } });
      sql(
        // A record that has changed since then has its own names.
        'DELETE FROM identity_rows WHERE row_no > (SELECT min(row_no) FROM identity_rows)',
        `UPDATE sources SET cursor_saved_at = '${past(85)}'`,
        `INSERT INTO notice_rows (source_no, seq, target, body, queued_at, state, next_at) VALUES (1, 1, 't', '{}', '${past(1)}', 'given_up', '${past(1)}')`,
      );
    },
  },
];

const fault = (status: number, type: string, message: string) =>
  controlOf({ url: sandbox.ready.baseUrl })('POST', '/faults', [
    { method: 'GET', path: '/investments', times: 1, action: { status, body: { error: { type, message } } } },
  ]);

test.each([
  [403, 'insufficient_scope', 'lacks read:investments', 'scopes.acme', /rosterd/],
  [400, 'invalid_request', 'Unknown version "2026-10-15".', 'version.acme', /platform\.version/],
])('doctor reports the response %i %s (%s) as %s', async (status, type, message, check, mend) => {
  const { doctor } = await office({ mirror: false });
  await fault(status, type, message);
  const { code, diagnosis } = await doctor();
  expect(code).toBe(1);
  expect(diagnosis.checks.filter(({ verdict }) => verdict === 'fail')).toEqual([
    expect.objectContaining({ name: check, mend: expect.stringMatching(mend) }),
  ]);
});

test('doctor reports an endpoint that does not exist yet, one that the daemon may not make, one with an unknown secret, and a healthy one', async () => {
  const { folder, configure, doctor } = await office({ mirror: false });
  const token = sandbox.ready.users[0]?.liveToken ?? '';
  const tokenFile = join(folder, 'manager.token');
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const publicUrl = `http://${await squatter((_, response) => response.end())}/webhooks`;
  const listen = `127.0.0.1:${await freePort()}`;
  const configured = (mode: string) =>
    configure({
      platform: { baseUrl: sandbox.ready.baseUrl, management: { token: { file: tokenFile } } },
      receiver: { listen, endpoint: { publicUrl, mode, file: join(folder, 'endpoint.json') } },
    });
  configured('test');
  const findings = async () =>
    (await doctor()).diagnosis.checks
      .filter(({ name }) => name.startsWith('endpoint.'))
      .map(({ verdict, mend }) => [verdict, mend]);
  expect((await findings())[0]).toEqual(['warn', 'rosterd run']);
  const health = { state: 'blocked', code: 'forbidden', message: 'POST /webhook_endpoints answered 403' };
  writeFileSync(join(folder, 'endpoint.json'), JSON.stringify({ id: null, secrets: [], health }), {
    mode: 0o600,
  });
  expect((await findings())[0]).toEqual(['fail', 'rosterd connect --management --write']);
  rmSync(join(folder, 'endpoint.json'));

  const created = await fetch(`${sandbox.ready.baseUrl}/webhook_endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: publicUrl, events: ['investment.changed'], mode: 'test' }),
  });
  expect(created.status).toBe(201);
  const { data } = (await created.json()) as { data: { id: string } };
  expect(await findings()).toEqual([
    ['pass', null],
    ['skip', null],
    ['fail', 'rosterd run, which replaces the secret'],
    ['pass', null],
  ]);
  const known = { value: 'whsec_x', since: '2026-01-01T00:00:00.000Z', until: null };
  writeFileSync(join(folder, 'endpoint.json'), JSON.stringify({ id: data.id, secrets: [known] }), {
    mode: 0o600,
  });
  expect((await findings()).map(([verdict]) => verdict)).toEqual(['pass', 'skip', 'pass', 'pass']);
  await controlOf({ url: sandbox.ready.baseUrl })('POST', '/investments', {
    company: sandbox.ready.companies[0]?.id,
  });
  await expect
    .poll(async () => (await findings()).map(([verdict]) => verdict))
    .toEqual(['pass', 'pass', 'pass', 'pass']);

  configured('live');
  expect(await findings()).toEqual([
    ['warn', 'rosterd run'],
    ['skip', null],
    ['skip', null],
    ['warn', `rosterd endpoints delete ${data.id}`],
  ]);
});

describe('doctor finds each problem by name and prints the command that fixes it', () => {
  test.each(
    breakages.map((breakage) => ({ ...breakage, checks: breakage.finds.map(([check]) => check).join(', ') })),
  )('$checks', async ({ finds, how, mirror }) => {
    const place = await office({ mirror });
    await how(place);
    const { code, diagnosis } = await place.doctor();
    for (const [name, verdict, mend, message = /./] of finds)
      expect.soft(diagnosis.checks.find((check) => check.name === name)).toMatchObject({
        ...{ name, verdict },
        mend: expect.stringMatching(mend),
        message: expect.stringMatching(message),
      });
    expect(code).toBe(diagnosis.healthy ? 0 : 1);
    if (finds.some(([, verdict]) => verdict === 'fail')) expect(code).toBe(1);
  });
});

test.each([
  ['18.20.0', 'fail'],
  ['20.19.0', 'fail'],
  ['22.18.9', 'fail'],
  ['22.19.0', 'pass'],
  ['23.0.0', 'warn'],
  ['24.0.0', 'pass'],
  ['26.10.0', 'pass'],
  ['27.0.0', 'warn'],
])('doctor on Node %s: %s', (version, verdict) => {
  expect(nodeCheck(version).verdict).toBe(verdict);
});

test.each([
  [500, 'pass'],
  [-45_000, 'warn'],
  [301_000, 'fail'],
])('doctor with a platform clock that is %i ms ahead: %s', (ahead, verdict) => {
  expect(clockCheck(ahead).verdict).toBe(verdict);
});
