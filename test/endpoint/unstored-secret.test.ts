import { expect, onTestFinished, test } from 'vitest';
import { Fault, type FaultCode } from '../../src/domain/fault.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { createEndpointCare } from '../../src/endpoint/care.js';
import { type EndpointState, unknownEndpoint } from '../../src/endpoint/state.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import { platformWithEndpoint, publicUrl } from './stub-platform.js';

const hour = 3_600_000;
const nothing = { failingSince: null, lastDeliveryAt: null, lastDeliveryStatus: null, reenabledAt: null };
const healthy = { ...nothing, state: 'ok' as const, code: null, message: null, hint: null };

/** A state that is stored, except at the first write of a new secret. */
function failingStore(code: FaultCode, clock: VirtualClock) {
  const since = instantFromMillis(clock.now() - 48 * hour);
  let state: EndpointState = {
    ...unknownEndpoint,
    id: 'whe_1',
    secrets: [{ value: 'whsec_old', since, until: null }],
  };
  let hasFailed = false;
  return {
    state: () => state,
    hasFailed: () => hasFailed,
    store: {
      place: 'a store',
      shared: false,
      read: async () => state,
      write: async (next: EndpointState) => {
        if (!hasFailed && next.secrets.length > 1) {
          hasFailed = true;
          throw new Fault(code, 'the secret cannot be stored');
        }
        state = next;
      },
      withLock: <R>(_: unknown, work: () => Promise<R>) => work(),
    },
  };
}

test.each(['database_busy', 'database_full', 'usage'] as const)(
  'a new secret that cannot be stored (%s) is replaced by another while the old one is valid',
  async (code) => {
    const clock = new VirtualClock();
    const { api, rotations } = platformWithEndpoint();
    const { store, state, hasFailed } = failingStore(code, clock);
    const wanted = {
      ...{ publicUrl, mode: 'live' as const, events: ['x'], file: 'unused', entry: null },
      ...{ checkMillis: hour, rotateMillis: 24 * hour },
    };
    const catchUp = () => {};
    const care = createEndpointCare({
      unstored: () => {},
      api,
      wanted,
      store,
      clock,
      logger: silentLogger,
      catchUp,
    });
    onTestFinished(() => care.close());
    await care.load();
    care.start();
    await expect.poll(hasFailed).toBe(true);
    await expect.poll(() => state().health?.state).toBe('blocked');
    expect(state().rotationAskedAt).not.toBeNull();
    expect(care.secrets()).toEqual(['whsec_old']);
    await clock.advance(hour);
    await expect.poll(() => state().health?.state).toBe('ok');
    expect(rotations()).toBe(2);
    expect(state().rotationAskedAt).toBeNull();
    expect(care.secrets()).toEqual(['whsec_new2', 'whsec_old']);
  },
);

test.each([
  [false, 'it is stored'],
  [true, 'another host checked'],
])('the result of a check that cannot be stored is reported (shared: %s) until %s', async (isShared) => {
  const clock = new VirtualClock();
  const { api, asked } = platformWithEndpoint();
  const { store, state } = failingStore('usage', clock);
  let isBroken = true;
  const problems: (string | null)[] = [];
  const care = createEndpointCare({
    api,
    wanted: {
      ...{ publicUrl, mode: 'live' as const, events: ['x'], file: 'unused', entry: null },
      ...{ checkMillis: hour, rotateMillis: null },
    },
    store: {
      ...store,
      shared: isShared,
      write: async (state) => {
        if (isBroken)
          throw new Fault('database_busy', 'a store cannot be written (EIO)', { hint: 'check it' });
        await store.write(state);
      },
    },
    clock,
    logger: silentLogger,
    catchUp: () => {},
    unstored: (problem) => problems.push(problem),
  });
  onTestFinished(() => care.close());
  await care.load();
  care.start();
  await expect.poll(() => problems.length).toBe(1);
  expect(problems[0]).toBe(
    'the webhook endpoint cannot be managed, because its state cannot be stored: a store cannot be written (EIO); check it',
  );
  isBroken = false;
  if (isShared) {
    // Another host checks first from now on.
    const checkedAt = instantFromMillis(clock.now() + 0.9 * hour);
    await store.write({ ...state(), health: { ...healthy, checkedAt } });
  }
  await clock.advance(hour);
  await expect.poll(() => problems.at(-1)).toBe(null);
  await expect.poll(() => asked()).toBe(isShared ? 1 : 2);
});
