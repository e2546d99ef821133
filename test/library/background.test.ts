import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { ConfigInput } from '../../src/index.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { freePort } from '../support/free-port.js';
import { embeddedMirror } from './embedded.js';

const patient = { timeout: 20_000, interval: 50 };

/** An embedded mirror until the test ends, and what a test does to its file. */
async function embedded(settings: Partial<ConfigInput> = {}) {
  const world = await embeddedMirror(settings);
  const reader = new Sqlite(join(world.folder, 'inner.db'));
  onTestFinished(async () => {
    reader.close();
    await world.close();
  });
  return {
    ...world,
    all: <Row>(sql: string): Row[] => reader.prepare<[], Row>(sql).all(),
    run: (sql: string) => void reader.exec(sql),
  };
}

/** Starts a receiver of notices. Returns its address and the bodies that arrived. */
async function receiver() {
  const received: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      received.push(body);
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received };
}

const noticesTo = (url: string): Partial<ConfigInput> => ({
  notices: [{ kind: 'http', name: 'crm', url, secret: { env: 'NOTICE_SECRET' } }],
});

const erasuresSql = `SELECT count(*) AS erasures, count(scrubbed_at) AS scrubbed FROM erasures`;
const eraseOne = async (world: Awaited<ReturnType<typeof embedded>>) => {
  const [row] = world.all<{ id: string }>(
    'SELECT investor_id AS id FROM investments WHERE investor_id IS NOT NULL ORDER BY id LIMIT 1',
  );
  await world.control('POST', `/users/${row?.id}/deactivate`);
};

test('library: a started mirror scrubs the bytes of erased identities, as `rosterd run` does', async () => {
  const world = await embedded();
  await world.mirror.start();
  await expect.poll(async () => (await world.mirror.status()).health, patient).toBe('ok');
  await eraseOne(world);
  await world.mirror.tick();
  await expect
    .poll(() => {
      const [row] = world.all<{ erasures: number; scrubbed: number }>(erasuresSql);
      return row !== undefined && row.erasures > 0 && row.erasures === row.scrubbed;
    }, patient)
    .toBe(true);
});

test('library: a started mirror deletes what is past its retention, as `rosterd run` does', async () => {
  const world = await embedded();
  await world.mirror.tick();
  world.run(`UPDATE tick_rows SET started_at = '2020-01-01T00:00:00.000Z'`);
  await world.mirror.start();
  await expect
    .poll(() => world.all(`SELECT tick FROM tick_rows WHERE started_at < '2021'`), patient)
    .toEqual([]);
});

test('library: a started mirror sends the notices of its configuration, as `rosterd run` does', async () => {
  const { url, received } = await receiver();
  const world = await embedded(noticesTo(url));
  await world.mirror.tick();
  await world.mirror.start();
  await world.control('POST', '/investments', { company: world.company.id });
  await world.mirror.tick();
  await expect.poll(() => received.length, patient).toBeGreaterThan(0);
});

test('library: a started mirror of a fleet performs what an operator asks for at the console of another member', async () => {
  const database = await migratedDatabase();
  onTestFinished(() => database.drop());
  const world = await embedded({ database: database.url });
  await world.mirror.start();
  await expect.poll(async () => (await world.mirror.status()).health, patient).toBe('ok');
  const rows = (sql: string) => withClient(database.url, async (client) => (await client.query(sql)).rows);
  await rows(
    `INSERT INTO operator_requests (source, kind, confirmed_rows, actor, role, asked_at)
     VALUES ('acme', 'resync', NULL, 'token:oleg', 'operator', '2026-11-20T12:00:00.000Z')`,
  );
  await expect
    .poll(() => rows('SELECT actor, action, outcome FROM audit_log'), patient)
    .toEqual([{ actor: 'token:oleg', action: 'resync', outcome: 'done' }]);
  expect(await rows("SELECT outcome FROM ticks WHERE mode = 'relisting'")).toEqual([{ outcome: 'done' }]);
  expect(await rows('SELECT source FROM operator_requests')).toEqual([]);
});

test('library: `stop` during `start` closes the receiver, and a stopped mirror cannot start', async () => {
  const port = await freePort();
  const listen = `127.0.0.1:${port}`;
  const world = await embedded({ receiver: { listen, secrets: [{ env: 'NOTICE_SECRET' }] } });
  const started = world.mirror.start().then(
    () => null,
    (error: unknown) => error,
  );
  await world.mirror.stop();
  expect(await started).toMatchObject({ code: 'stopped' });
  expect(world.mirror.receiverUrl).toBeNull();
  await expect(fetch(`http://${listen}/healthz`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  await expect(world.mirror.start()).rejects.toMatchObject({ code: 'stopped' });
});

test('library: a mirror whose start failed refuses ticks, which would send no notices, and another one works', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const listen = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const world = await embedded({ receiver: { listen, secrets: [{ env: 'NOTICE_SECRET' }] } });
  await expect(world.mirror.start()).rejects.toThrow(listen);
  await expect(world.mirror.tick()).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/^the start of this mirror failed: .*in use/),
    about: { hint: 'stop this mirror and create another one' },
  });
  await world.mirror.stop();
  const other = await world.another({});
  onTestFinished(() => other.stop());
  expect(await other.tick()).toMatchObject([{ report: { outcome: 'done' } }]);
});

test.each(['ticks', 'started'])(
  'library: a listener may await a tick and the stop of its own mirror (%s)',
  async (mode) => {
    const world = await embedded();
    await world.mirror.tick();
    const done: string[] = [];
    world.mirror.onChange(async () => {
      if (done.length > 0) return;
      done.push('called');
      await world.mirror.tick();
      done.push('ticked');
      await world.mirror.stop();
      done.push('stopped');
    });
    if (mode === 'started') await world.mirror.start();
    await world.control('POST', '/churn', { changes: 2 });
    const ticked = world.mirror.tick().then(
      () => null,
      (error: unknown) => error,
    );
    await expect.poll(() => done, patient).toEqual(['called', 'ticked', 'stopped']);
    await ticked;
    await world.mirror.stop();
    await expect(world.mirror.tick()).rejects.toThrow('no longer synced');
  },
);

test('library: a tick without `start` scrubs and sends before it resolves, as `rosterd sync` does', async () => {
  const { url, received } = await receiver();
  const world = await embedded(noticesTo(url));
  await world.mirror.tick();
  await eraseOne(world);
  await world.control('POST', '/investments', { company: world.company.id });
  await world.mirror.tick();
  const [row] = world.all<{ erasures: number; scrubbed: number }>(erasuresSql);
  expect(row?.erasures).toBeGreaterThan(0);
  expect(row?.scrubbed).toBe(row?.erasures);
  expect(received.length).toBeGreaterThan(0);
});
