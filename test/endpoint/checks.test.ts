import { expect, onTestFinished, test } from 'vitest';
import type { Api } from '../../src/client/api.js';
import { Fault } from '../../src/domain/fault.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { createEndpointCare } from '../../src/endpoint/care.js';
import { type EndpointHealth, type EndpointState, unknownEndpoint } from '../../src/endpoint/state.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { platformWithEndpoint, publicUrl } from './stub-platform.js';

const minute = 60_000;
const hour = 60 * minute;

/** The care of an endpoint that exists and has a secret, and its store, which other hosts read too if it is `shared`. */
function careOf(api: Api, { checkMillis = hour, shared = false } = {}) {
  const clock = new VirtualClock();
  const secret = (value: string) => ({ value, since: instantFromMillis(clock.now()), until: null });
  const stored: EndpointState[] = [{ ...unknownEndpoint, id: 'whe_1', secrets: [secret('whsec_1')] }];
  const reading = { before: async () => {}, count: 0 };
  const store = {
    ...{ place: 'a store', shared },
    read: async () => {
      reading.count += 1;
      const found = stored.at(-1) ?? unknownEndpoint;
      await reading.before();
      return found;
    },
    write: async (next: EndpointState) => void stored.push(next),
    withLock: <R>(_: unknown, work: () => Promise<R>) => work(),
  };
  const wanted = {
    ...{ publicUrl, mode: 'live' as const, events: ['x'], file: 'unused', entry: null },
    ...{ checkMillis, rotateMillis: null },
  };
  const warned: unknown[] = [];
  const logger = { ...silentLogger, warn: (...line: unknown[]) => void warned.push(line) };
  const parts = { api, wanted, store, clock, logger, catchUp: () => {}, unstored: () => {} };
  const care = createEndpointCare(parts);
  onTestFinished(() => care.close());
  return { care, clock, stored, reading, secret, warned };
}

test.each([
  ['for as long as the platform says', 5 * hour],
  ['for the usual time, if that is longer', 10 * minute],
])('after a refusal, the endpoint is not checked again %s', async (_, refusedMillis) => {
  let asked = 0;
  const api: Api = async () => {
    asked += 1;
    const retryAt = instantFromMillis(clock.now() + refusedMillis);
    throw new Fault('rate_limited', 'too many requests', { retryAt });
  };
  const { care, clock } = careOf(api);
  care.start();
  await clock.advance(Math.max(hour, refusedMillis) - 1);
  expect(asked).toBe(1);
  await clock.advance(1);
  expect(asked).toBe(2);
});

test('the same health is stored again once an hour, so that its time does not look stale', async () => {
  const { care, clock, stored } = careOf(platformWithEndpoint().api, { checkMillis: 10 * minute });
  care.start();
  await clock.advance(59 * minute);
  expect(stored).toHaveLength(2);
  await clock.advance(minute);
  expect(stored).toHaveLength(3);
});

test('the time of a check by a clock that was ahead is replaced at the next check', async () => {
  const { care, clock, stored } = careOf(platformWithEndpoint().api, { checkMillis: 10 * minute });
  const checkedAt = () => stored.at(-1)?.health?.checkedAt ?? '';
  clock.setBack(-48 * hour);
  care.start();
  await clock.advance(minute);
  clock.setBack(48 * hour);
  expect(checkedAt() > instantFromMillis(clock.now())).toBe(true);
  await clock.advance(10 * minute);
  expect(checkedAt() <= instantFromMillis(clock.now())).toBe(true);
});

test('secrets are read again only where other hosts rotate them, and never replace what this host stored meanwhile', async () => {
  const own = careOf(platformWithEndpoint().api);
  await own.care.reread();
  expect(own.reading.count).toBe(0);

  const { care, clock, stored, reading, secret } = careOf(platformWithEndpoint().api, { shared: true });
  await care.reread();
  expect(care.secrets()).toEqual(['whsec_1']);
  let arrive = () => {};
  reading.before = () => new Promise<void>((resolve) => (arrive = resolve));
  const rereading = care.reread();
  reading.before = async () => {};
  // What the check reads and stores while the first reading is on its way.
  stored.push({ ...unknownEndpoint, id: 'whe_1', secrets: [secret('whsec_2')] });
  care.start();
  await settled();
  await clock.advance(1);
  arrive();
  await rereading;
  expect(care.secrets()).toEqual(['whsec_2']);
});

test('secrets that cannot be read again are a warning once a minute, however many deliveries ask for it', async () => {
  const { care, clock, reading, warned } = careOf(platformWithEndpoint().api, { shared: true });
  const error = new Fault('database_unusable', 'it lacks SELECT on rosterd_vault.vault_entries');
  reading.before = () => Promise.reject(error);
  for (let second = 0; second < 90; second += 1) {
    await care.reread();
    await clock.advance(1_000);
  }
  const line = [{ error }, 'the signing secrets cannot be read; the ones read before stay in use'];
  expect(warned).toEqual([line, line]);
});

test.each<[string, Partial<EndpointHealth> | null, boolean]>([
  ['found it healthy', {}, false],
  ['was refused because of too many requests', { state: 'blocked', code: 'rate_limited' }, false],
  ['cannot manage it', { state: 'blocked', code: 'unauthorized' }, true],
  ['stored no result', null, true],
])(
  'an endpoint that another host just checked is left alone, unless that host cannot: it %s',
  async (_, found, asks) => {
    const platform = platformWithEndpoint();
    const { care, clock, stored } = careOf(platform.api, { shared: true });
    care.start();
    await clock.advance(hour - 1);
    const last = stored.at(-1) ?? unknownEndpoint;
    const checkedAt = instantFromMillis(clock.now());
    stored.push({ ...last, health: found && { ...(last.health as EndpointHealth), ...found, checkedAt } });
    const before = platform.asked();
    await clock.advance(1);
    expect([before > 0, platform.asked() > before]).toEqual([true, asks]);
  },
);
