import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { instantFromMillis } from '../../src/domain/instant.js';
import { askDaemons } from '../../src/reading/daemon-address.js';
import { systemClock } from '../../src/runtime/clock.js';
import type { HealthReport } from '../../src/runtime/health-register.js';
import { processName } from '../../src/runtime/process-identity.js';
import { locationText } from '../../src/store/database-location.js';
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
  return { leave, ask: () => askDaemons(place, null, systemClock) };
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
  const body = JSON.stringify({ process: processName(), started_at, problems, spacings: {} });
  const server = createServer((_request, response) => response.end(body));
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
