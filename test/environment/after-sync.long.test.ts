import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { AfterSyncConfig, Config } from '../../src/config/config.js';
import { Secret } from '../../src/config/secrets.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { statusOf } from '../../src/reading/status.js';
import { systemClock } from '../../src/runtime/clock.js';
import { configFor, control, freshFolder, partsFor, sandboxFor } from '../daemon/daemon-fixture.js';
import { bodyOf } from '../support/body-of.js';

const key = 'a-secret-for-signing-runs';

interface Run {
  readonly id: string;
  readonly body: {
    readonly first_seq: number;
    readonly last_seq: number;
    readonly sources: readonly { readonly listed: boolean; readonly changed: number }[];
  };
  end(status: number): void;
}

/** A receiver that checks signatures and answers when the test says so. */
async function openReceiver() {
  const runs: Run[] = [];
  let open = 0;
  let openMax = 0;
  const server = createServer(async (request, response: ServerResponse) => {
    const text = await bodyOf(request);
    if (text === null) return;
    open += 1;
    openMax = Math.max(openMax, open);
    const headers = request.headers as Record<string, string>;
    new Webhook(Buffer.from(key), { format: 'raw' }).verify(text, headers);
    const end = (status: number) => {
      open -= 1;
      response.writeHead(status).end();
    };
    runs.push({ id: headers['webhook-id'] ?? '', body: JSON.parse(text), end });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/run`;
  const nth = async (count: number): Promise<Run> => {
    await expect.poll(() => runs.length).toBe(count);
    return runs[count - 1] as Run;
  };
  return { runs, url, nth, openMax: () => openMax };
}

/** A daemon with one source of a small platform and these hooks. */
async function daemonWith(hooks: (folder: string) => readonly AfterSyncConfig[]) {
  const sandbox = await sandboxFor({ companies: 1, records: 20 });
  const folder = freshFolder();
  const config = configFor(sandbox, { folder });
  // Companies and rounds are changes too, which come some time after the first listing.
  const sync = { ...config.sync, catalogIntervalSeconds: null };
  const whole: Config = { ...config, sync, afterSync: hooks(folder) };
  const start = async () => {
    const daemon = await startDaemon(partsFor(whole));
    onTestFinished(() => daemon.close());
    await daemon.engine.sync.idle();
    return daemon;
  };
  return { sandbox, config: whole, folder, start };
}

const about = { sources: null, delayMillis: 0, timeoutMillis: 30_000 };

test('after-sync: ticks go on while a hook runs, and one further run reports all that they changed', async () => {
  const { url, nth, runs, openMax } = await openReceiver();
  const { sandbox, config, start } = await daemonWith((folder) => [
    { ...about, kind: 'http', name: 'jobs', url, secret: new Secret('s', key as never, { env: {}, folder }) },
  ]);
  const { engine, ...daemon } = await start();
  const first = await nth(1);
  expect(first.body.sources).toMatchObject([{ listed: true }]);
  const source = config.sources[0]?.name ?? ('' as never);
  for (const changes of [2, 3]) {
    await control(sandbox, 'POST', '/churn', { changes });
    await engine.sync.tick(source);
  }
  const { change_seq } = await statusOf(config.database, systemClock, config);
  expect(runs).toHaveLength(1);
  first.end(204);
  const second = await nth(2);
  expect(second.body).toMatchObject({ first_seq: first.body.last_seq + 1, last_seq: change_seq });
  second.end(500);
  await expect.poll(() => engine.health.list().map(({ key: name }) => name)).toContain('after_sync.jobs');
  const { after_sync, health } = await statusOf(config.database, systemClock, config, {
    daemons: [],
    problems: engine.health.list(),
    waits: [],
    spacings: {},
  });
  expect(after_sync).toMatchObject([
    { hook: 'jobs', pending: true, attempts: 1, last_error: 'answered 500' },
  ]);
  expect(health).toBe('attention');
  // Stopped while it waits for the next attempt; the next daemon repeats it unchanged.
  await daemon.close();
  const again = await start();
  expect(again.engine.health.list()).toMatchObject([{ key: 'after_sync.jobs' }]);
  const third = await nth(3);
  expect([third.id, third.body]).toEqual([second.id, second.body]);
  third.end(204);
  await expect.poll(() => again.engine.health.list()).toEqual([]);
  expect(openMax()).toBe(1);
});

test('after-sync: a command reads the message on stdin without secrets in its environment, and one that hangs is killed at its limit', async () => {
  vi.stubEnv('ROSTERD_TEST_SECRET', key);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { config, folder, start } = await daemonWith((at) => [
    {
      ...{ ...about, kind: 'command', name: 'keep' },
      command: [
        process.execPath,
        '-e',
        `if (process.env.ROSTERD_TEST_SECRET) process.exit(3);
        process.stdin.pipe(require('fs').createWriteStream(${JSON.stringify(join(at, 'told.json'))}))`,
      ],
    },
    {
      ...{ ...about, sources: ['another'], kind: 'http', name: 'never', url: 'http://127.0.0.1:1/' },
      secret: new Secret('s', { env: 'ROSTERD_TEST_SECRET' }, { env: process.env, folder: at }),
    },
    {
      ...{ ...about, timeoutMillis: 50, kind: 'command', name: 'hang' },
      command: [process.execPath, '-e', 'setInterval(() => {}, 1000)'],
    },
  ]);
  await start();
  const file = join(folder, 'told.json');
  await expect
    .poll(async () => (await statusOf(config.database, systemClock, config)).after_sync)
    .toMatchObject([
      { hook: 'keep', pending: false, last_error: null },
      { hook: 'never', last_error: null },
      { hook: 'hang', last_error: 'did not end within 0.05 s' },
    ]);
  expect(existsSync(file) && JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    type: 'sync.changed',
    hook: 'keep',
    sources: [{ source: 'c0', listed: true }],
  });
});
