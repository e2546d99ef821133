import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { Secret } from '../../src/config/secrets.js';
import { startAfterSyncHooks } from '../../src/daemon/after-sync.js';
import type { Engine, EngineParts } from '../../src/daemon/engine.js';
import { runAfterSync } from '../../src/daemon/start-outbox.js';
import type { Instant } from '../../src/domain/instant.js';
import { alone } from '../../src/fleet/membership.js';
import type { AfterSyncMessage, AfterSyncStore } from '../../src/outbox/ports.js';
import { HealthRegister } from '../../src/runtime/health-register.js';
import { Lifecycle } from '../../src/runtime/lifecycle.js';
import { silentLogger } from '../../src/runtime/logger.js';
import type { ProxyVariables } from '../../src/runtime/proxy.js';
import { seededRandom } from '../../src/runtime/random.js';
import { startProxy } from '../client/fetch/proxy-server.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

/** undici counts its own timeouts; `tick` lets that many milliseconds pass at once. */
const undiciTimers = createRequire(import.meta.url)('undici/lib/util/timers.js') as {
  tick(millis?: number): void;
};

/** Hooks with one message each, and a receiver that holds every request until the test answers it. */
async function hooksOf(names: readonly string[], timeoutMillis: number, proxy: ProxyVariables = {}) {
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    request.resume();
    held.push(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const local = `http://127.0.0.1:${(server.address() as AddressInfo).port}/run`;
  const url = proxy.HTTPS_PROXY === undefined ? local : 'https://hooks.test/run';
  const at = '2026-10-01T00:00:00.000Z' as Instant;
  const messages = new Map<string, AfterSyncMessage>(
    names.map((name) => [name, { body: '{}', lastSeq: 1, queuedAt: at, nextAt: at, attempts: 0 }]),
  );
  const outcomes: string[] = [];
  const settled = (outcome: string) => async (hook: string) => {
    messages.delete(hook);
    outcomes.push(`${hook} ${outcome}`);
  };
  const store: AfterSyncStore = {
    state: async (hook) => ({
      doneSeq: 1,
      triedSeq: 1,
      message: messages.get(hook) ?? null,
      lastError: null,
    }),
    firstChange: async () => null,
    changesAfter: async () => [],
    queue: async () => true,
    succeeded: settled('succeeded'),
    retryLater: settled('failed'),
    giveUp: settled('given up'),
  };
  const secret = new Secret('secret', 'a-secret-for-signing' as never, { env: {}, folder: '/' });
  const hooks = names.map((name) => ({
    ...{ kind: 'http', name, url, secret, sources: null, delayMillis: 0, timeoutMillis },
  }));
  const started = await startAfterSyncHooks({
    config: { afterSync: hooks, proxy } as unknown as Config,
    store,
    register: new HealthRegister(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    logger: silentLogger,
    leads: () => true,
    isLed: () => false,
  });
  onTestFinished(async () => {
    await started.close();
    server.closeAllConnections();
    server.close();
  });
  return { held, outcomes };
}

test('after-sync hooks: an address may take as long as its timeout to respond', async () => {
  const { held, outcomes } = await hooksOf(['jobs'], 60_000);
  await expect.poll(() => held).toHaveLength(1);
  undiciTimers.tick();
  undiciTimers.tick(50_000);
  held[0]?.writeHead(204).end();
  await expect.poll(() => outcomes).toEqual(['jobs succeeded']);
});

test('after-sync hooks: an https address is reached through the proxy', async () => {
  const proxy = await startProxy(0, { answer: 'HTTP/1.1 407 Who\r\n\r\n' });
  const { outcomes } = await hooksOf(['jobs'], 60_000, { HTTPS_PROXY: proxy.url });
  await expect.poll(() => outcomes).toEqual(['jobs failed']);
  expect(proxy.asked.map(({ to }) => to)).toEqual(['hooks.test:443']);
});

test('after-sync hooks: those of one host run beside one another', async () => {
  const { held, outcomes } = await hooksOf(['dbt', 'jobs', 'report'], 60_000);
  await expect.poll(() => held).toHaveLength(3);
  expect(outcomes).toEqual([]);
  for (const response of held) response.writeHead(204).end();
  await expect.poll(() => outcomes).toHaveLength(3);
});

test('after-sync hooks: a daemon that begins to lead reports a hook whose last run failed', async () => {
  const clock = new VirtualClock();
  const register = new HealthRegister();
  const now = { leads: false, isLed: false };
  const failed = { doneSeq: 1, triedSeq: 2, message: null, lastError: 'answered 410' };
  const started = await startAfterSyncHooks({
    config: {
      afterSync: [
        { kind: 'command', name: 'dbt', command: ['dbt'], sources: null, delayMillis: 0, timeoutMillis: 1 },
      ],
      proxy: {},
    } as unknown as Config,
    store: { state: async () => failed, firstChange: async () => null } as unknown as AfterSyncStore,
    ...{ register, clock, random: seededRandom(1), logger: silentLogger },
    leads: () => now.leads,
    isLed: () => now.isLed,
  });
  onTestFinished(() => started.close());
  const reported = async () => {
    started.look();
    await clock.advance(1_000);
    return register.list().map(({ text }) => text);
  };
  // Before the first heartbeat, it is not known who leads.
  expect(await reported()).toEqual([]);
  now.leads = true;
  expect(await reported()).toEqual(['the after-sync hook dbt failed: answered 410']);
  Object.assign(now, { leads: false, isLed: true });
  expect(await reported()).toEqual([]);
  Object.assign(now, { leads: true, isLed: false });
  expect(await reported()).toEqual(['the after-sync hook dbt failed: answered 410']);
});

test('after-sync hooks: a listing that changed companies or rounds makes them look, as a tick does', async () => {
  let looks = 0;
  const store: AfterSyncStore = {
    state: async () => ({ doneSeq: 1, triedSeq: 1, message: null, lastError: null }),
    firstChange: async () => {
      looks += 1;
      return null;
    },
    changesAfter: async () => [],
    queue: async () => true,
    succeeded: async () => {},
    retryLater: async () => {},
    giveUp: async () => {},
  };
  const listeners: (() => void)[] = [];
  const onChanged = (listener: () => void) => {
    listeners.push(listener);
    return () => {};
  };
  const lifecycle = new Lifecycle();
  onTestFinished(() => lifecycle.close());
  const engine = {
    mirror: { afterSync: store },
    sync: { onTick: () => () => {} },
    dimensions: { onChanged },
    health: new HealthRegister(),
  };
  const hook = { kind: 'command', name: 'dbt', command: ['dbt'], sources: null, delayMillis: 10_000 };
  const parts = {
    config: { afterSync: [hook], proxy: {} },
    clock: new VirtualClock(),
    random: seededRandom(1),
    logger: silentLogger,
  };
  await runAfterSync(engine as unknown as Engine, parts as unknown as EngineParts, alone, lifecycle);
  await expect.poll(() => looks).toBe(1);
  for (const listener of listeners) listener();
  await expect.poll(() => looks).toBe(2);
});
