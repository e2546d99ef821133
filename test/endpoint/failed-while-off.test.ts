import { expect, onTestFinished, test } from 'vitest';
import type { Api } from '../../src/client/api.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { createEndpointCare } from '../../src/endpoint/care.js';
import { type EndpointState, unknownEndpoint } from '../../src/endpoint/state.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const publicUrl = 'https://hooks.example.com/rosterd';
const hour = 3_600_000;
const minutesAgo = (clock: VirtualClock, minutes: number) =>
  instantFromMillis(clock.now() - minutes * 60_000);

/** A daemon that starts again: the platform reports failures since ten minutes ago, and the last attempt five minutes ago. */
async function startedAgain(before: 'ok' | 'failing' | 'unknown') {
  const clock = new VirtualClock();
  const failing = minutesAgo(clock, 10);
  const platform = { failing_since: failing as string | null, last_delivery_at: minutesAgo(clock, 5) };
  const api: Api = async () => {
    const attributes = {
      ...{ url: publicUrl, installation: null, mode: 'live', events: ['x'], enabled: true },
      ...{ ...platform, last_delivery_status: 'connection_failed', created_at: null },
    };
    const data = [{ id: 'whe_1', type: 'webhook_endpoint', attributes }];
    return { status: 200, body: { data, meta: {} }, text: '', requestId: null };
  };
  const nothing = { reenabledAt: null, lastDeliveryAt: null, lastDeliveryStatus: null, code: null };
  let state: EndpointState = {
    ...unknownEndpoint,
    id: 'whe_1',
    secrets: [{ value: 'whsec_1', since: minutesAgo(clock, 60), until: null }],
    health:
      before === 'unknown'
        ? null
        : {
            ...{ ...nothing, message: null, hint: null, checkedAt: minutesAgo(clock, 9) },
            ...{ state: before, failingSince: before === 'ok' ? null : failing },
          },
  };
  let checks = 0;
  const store = {
    place: 'a store',
    // Each check of a shared state is stored.
    shared: true,
    read: async () => state,
    write: async (next: EndpointState) => {
      state = next;
      checks += 1;
    },
    withLock: <R>(_: unknown, work: () => Promise<R>) => work(),
  };
  const wanted = {
    ...{ publicUrl, mode: 'live' as const, events: ['x'], file: 'unused', entry: null },
    ...{ checkMillis: hour, rotateMillis: null },
  };
  const care = createEndpointCare({
    unstored: () => {},
    api,
    wanted,
    store,
    clock,
    logger: silentLogger,
    catchUp: () => {},
  });
  onTestFinished(() => care.close());
  await care.load();
  care.start();
  await expect.poll(() => checks).toBe(1);
  const checked = async () => {
    const before = checks;
    await clock.advance(hour);
    await expect.poll(() => checks).toBe(before + 1);
    return state.health;
  };
  return { first: state.health, platform, clock, checked };
}

test('an endpoint whose deliveries failed only while the daemon was off is not failing, until a later one fails', async () => {
  const { first, platform, clock, checked } = await startedAgain('ok');
  expect(first).toMatchObject({ state: 'ok', failingSince: null, message: null, hint: null });
  expect(await checked()).toMatchObject({ state: 'ok' });
  platform.last_delivery_at = minutesAgo(clock, 1);
  expect(await checked()).toMatchObject({ state: 'failing', failingSince: platform.failing_since });
});

test('an endpoint that a check before the restart found failing is still failing', async () => {
  const { first, platform, checked } = await startedAgain('failing');
  expect(first).toMatchObject({ state: 'failing', failingSince: platform.failing_since });
  platform.failing_since = null;
  expect(await checked()).toMatchObject({ state: 'ok' });
});

test('an endpoint that no check found working is failing at the first one', async () => {
  const { first, platform } = await startedAgain('unknown');
  const message = `deliveries have failed since ${platform.failing_since}`;
  const hint = expect.stringContaining('publicUrl');
  expect(first).toMatchObject({ state: 'failing', failingSince: platform.failing_since, message, hint });
});
