import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { instantFromMillis } from '../../src/domain/instant.js';
import { addressFile, askDaemons, askLogs, writeAddress } from '../../src/reading/daemon-address.js';
import { systemClock } from '../../src/runtime/clock.js';
import type { HealthReport } from '../../src/runtime/health-register.js';
import { processName } from '../../src/runtime/process-identity.js';
import { locationText } from '../../src/store/database-location.js';
import { FakeClock } from '../client/fake-clock.js';
import { tempFolder } from '../store/temp-folder.js';

/** The name of a process with this pid that started at another time, so that it is gone. */
const dead = processName().replace(/^([^:]+:\d+):\d+/, '$1:1');

function host() {
  const place = { kind: 'sqlite', file: join(tempFolder(), 'mirror.db') } as const;
  const leave = (name: string, process: string, url: string, over: object = {}) => {
    const file = `${place.file}.daemon-${name}.json`;
    writeFileSync(file, JSON.stringify({ process, database: locationText(place), url, key: 'k', ...over }));
    return file;
  };
  const ask = (source?: string) => askDaemons(place, null, systemClock, source);
  return { place, leave, ask, logs: () => askLogs(place, null, systemClock) };
}

test.each<[string, object]>([
  ['an address of another scheme', { url: 'ftp://127.0.0.1:9' }],
  ['an address that is none', { url: 'localhost' }],
  ['a key that no request can carry', { key: 'k\n' }],
  ['no database', { database: undefined }],
  ['no process', { process: undefined }],
])('daemon address: a file with %s is reported as unreadable', async (_, over) => {
  const { leave, ask } = host();
  const file = leave('1', processName(), 'http://127.0.0.1:9', over);
  const { daemons, problems } = await ask();
  expect(daemons).toEqual([]);
  expect(problems).toMatchObject([{ text: expect.stringContaining(`${file} cannot be read`) }]);
});

async function answering(problems: readonly HealthReport[] = [], started_at?: string): Promise<string> {
  return await serving({ process: processName(), started_at, problems, spacings: {} });
}

/** Serves a body to every request, and keeps what was requested. */
async function serving(body: unknown, status = 200, requested: string[] = []): Promise<string> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const server = createServer(({ url, headers }, response) => {
    requested.push(`${url} ${headers.authorization}`);
    response.writeHead(status).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('daemon address: the file of a killed daemon proves that it is gone, and asking keeps the file', async () => {
  const { leave, ask } = host();
  expect(await ask()).toEqual({ daemons: [], problems: [], waits: [], spacings: {}, since: null });
  const file = leave('1', dead, 'http://127.0.0.1:9');
  const { daemons, problems } = await ask();
  expect(daemons).toEqual([]);
  expect(problems).toMatchObject([
    {
      key: 'daemon',
      severity: 'attention',
      text: expect.stringContaining(`(process ${process.pid}) is gone`),
    },
  ]);
  expect(existsSync(file)).toBe(true);
});

test('daemon address: a killed daemon is no problem while another one runs', async () => {
  const { leave, ask } = host();
  leave('1', dead, 'http://127.0.0.1:9');
  leave('2', processName(), await answering());
  expect(await ask()).toMatchObject({ daemons: [{ pid: process.pid, state: 'answers' }], problems: [] });
  const [first, last] = [instantFromMillis(1_000), instantFromMillis(2_000)];
  leave('3', processName(), await answering([], last));
  leave('4', processName(), await answering([], first));
  expect((await ask()).since).toBe(last);
});

test('daemon address: a daemon answers although each of its ten thousand sources has a problem', async () => {
  const { leave, ask } = host();
  const problems = Array.from({ length: 10_000 }, (_, n): HealthReport => {
    const source = `follow-${String(n).padStart(5, '0')}`;
    const text =
      'its last tick failed and could not be written down: no room left to write /var/lib/rosterd/mirror.db';
    return { key: `tick.${source}`, severity: 'ill', text, since: instantFromMillis(n), source };
  });
  leave('1', processName(), await answering(problems));
  const asked = await ask();
  expect(asked.daemons).toMatchObject([{ pid: process.pid, state: 'answers' }]);
  expect(asked.problems).toEqual(problems);
});

const healthy = { process: processName(), problems: [] };

test.each<[string, () => Promise<string>]>([
  ['refuses the connection', async () => 'http://127.0.0.1:9'],
  ['answers as another process', () => serving({ ...healthy, process: dead })],
  ['answers something else', () => serving({ ...healthy, problems: 'none' })],
  ['answers no JSON', () => serving('<html>')],
  ['refuses the key', () => serving(healthy, 401)],
])('daemon address: a daemon that %s is silent, and its log is not known', async (_, url) => {
  const { leave, ask, logs } = host();
  leave('1', processName(), await url());
  const { daemons, problems } = await ask();
  expect(daemons).toMatchObject([{ pid: process.pid, state: 'silent' }]);
  expect(problems).toMatchObject([{ text: expect.stringContaining('lives and does not answer') }]);
  expect(await logs()).toEqual([]);
});

test('daemon address: a daemon is given five seconds to answer', async () => {
  const { place, leave } = host();
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  leave('1', processName(), `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const clock = new FakeClock();
  expect((await askDaemons(place, null, clock)).daemons).toMatchObject([{ state: 'silent' }]);
  expect(clock.waits).toEqual([5_000]);
});

test('daemon address: files of other databases, hosts and programs are no daemons of this one', async () => {
  const { place, leave, ask, logs } = host();
  const url = await answering();
  leave('other-database', processName(), url, { database: 'sqlite:/elsewhere/mirror.db' });
  leave('other-host', `elsewhere${processName()}`, 'http://127.0.0.1:9');
  writeFileSync(`${place.file}.daemon-1.txt`, 'x');
  writeFileSync(`${place.file}.other.json`, 'x');
  // As one that is deleted between the listing of the folder and its reading.
  symlinkSync('nowhere', `${place.file}.daemon-gone.json`);
  expect(await ask()).toMatchObject({ daemons: [], problems: [] });
  expect(await logs()).toEqual([]);
});

test('daemon address: a file that cannot be read is reported, and asked for no log', async () => {
  const { place, ask, logs } = host();
  mkdirSync(`${place.file}.daemon-1.json`);
  expect((await ask()).problems).toMatchObject([{ text: expect.stringContaining('cannot be read') }]);
  expect(await logs()).toEqual([]);
});

test('daemon address: a daemon is asked with its key, for one source or for its log', async () => {
  const { leave, ask, logs } = host();
  const requested: string[] = [];
  leave('1', processName(), await serving({ ...healthy, log: ['a line'] }, 200, requested));
  await ask();
  await ask('a/b');
  expect(await logs()).toEqual([{ pid: process.pid, lines: ['a line'] }]);
  const paths = ['/daemon.json', '/daemon.json?source=a%2Fb', '/daemon.json?log=1'];
  expect(requested).toEqual(paths.map((path) => `${path} Bearer k`));
});

test('daemon address: a daemon leaves its file beside the mirror, and removes those of killed ones only', async () => {
  const { place, leave } = host();
  const config = { database: place, forget: { ledger: join(tempFolder(), 'forgotten.jsonl') } };
  const killed = leave('1', dead, 'http://127.0.0.1:9');
  const others = [leave('2', processName(), 'http://127.0.0.1:9'), leave('3', dead, 'nowhere')];
  const own = { url: 'http://127.0.0.1:8788', key: 'abcdefgh' };
  const file = addressFile(config as never, own) as string;
  expect(file).toBe(`${place.file}.daemon-${process.pid}-abcdef.json`);
  await writeAddress(file, config as never, own);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    ...{ process: processName(), database: locationText(place) },
    ...own,
  });
  expect([killed, ...others].map(existsSync)).toEqual([false, true, true]);
});

test('daemon address: with a server, the file is beside the ledger, which only a configuration names', async () => {
  const folder = tempFolder();
  const database = { kind: 'postgres', url: 'postgres://127.0.0.1:1/mirror' } as never;
  const config = { database, forget: { ledger: join(folder, 'forgotten.jsonl') } } as never;
  const own = { url: 'http://127.0.0.1:9', key: 'abcdefgh' };
  const file = addressFile(config, own) as string;
  expect(file).toBe(join(folder, `daemon-${process.pid}-abcdef.json`));
  await writeAddress(file, config, own);
  expect(readdirSync(folder)).toHaveLength(1);
  expect((await askDaemons(database, config, systemClock)).daemons).toMatchObject([{ state: 'silent' }]);
  expect((await askDaemons(database, null, systemClock)).daemons).toEqual([]);
  expect(await askLogs(database, null, systemClock)).toEqual([]);
});
