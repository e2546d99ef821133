import { expect, test } from 'vitest';
import { tokenRule } from '../../src/client/budget.js';
import { Budgets } from '../../src/client/budgets.js';
import type { Call } from '../../src/client/fetch/fetch.js';
import { PlatformTime } from '../../src/client/platform-time.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { FakeClock } from './fake-clock.js';

const { signal } = new AbortController();
const year = 365 * 24 * 3_600_000;

const call: Call = {
  method: 'GET',
  url: new URL('https://platform.invalid/'),
  headers: {},
  body: null,
  urgency: 'routine',
  replayable: true,
  signal,
};

test.each([
  ['back', year],
  ['forward', -600_000],
])(
  'platform time: setting the clock %s during a wait sends no request before its end',
  async (_, wrongBy) => {
    let truth = Date.parse('2026-11-20T12:00:00Z');
    const clock = new FakeClock(truth + wrongBy);
    const time = new PlatformTime(clock);
    const store = { load: async () => null, save: async () => {} };
    const tell = time.listen(async () => {
      const headers = new Headers({ date: new Date(truth).toUTCString() });
      return { status: 429, headers, body: '' };
    });
    const askTime = async () => void (await tell(call));
    const budgets = new Budgets({ store, time, logger: silentLogger, askTime });
    await tell(call);
    const rule = tokenRule();
    await budgets.take('token', rule, 'webhook', signal);
    await budgets.block('token', rule, 300_000, false);
    clock.jump(-wrongBy);
    for (const millis of [200_000, 90_000]) {
      clock.advance(millis);
      truth += millis;
      await expect(budgets.take('token', rule, 'webhook', signal)).rejects.toMatchObject({
        code: 'rate_limited',
      });
    }
    clock.advance(20_000);
    truth += 20_000;
    await budgets.take('token', rule, 'webhook', signal);
  },
);

/** Lets the platform answer once with this time, or without one. */
const hear = (time: PlatformTime, date: number | null) =>
  time.listen(async () => ({
    status: 200,
    headers: new Headers(date === null ? {} : { date: new Date(date).toUTCString() }),
    body: '',
  }))(call);

test('platform time: until a response has a time, the local clock is used and nothing is sure', async () => {
  const time = new PlatformTime(new FakeClock());
  for (const turn of ['no response', 'a response without a time']) {
    if (turn !== 'no response') await hear(time, null);
    expect(time).toMatchObject({ isUnsure: true, aheadMillis: 0 });
    expect(time.sinceObservedMillis).toBe(Number.POSITIVE_INFINITY);
  }
});

test('platform time: it is unsure as soon as the local clocks disagree by more than a second', async () => {
  const clock = new FakeClock();
  const time = new PlatformTime(clock);
  await hear(time, clock.now());
  clock.advance(60_000);
  expect(time).toMatchObject({ isUnsure: false, sinceObservedMillis: 60_000 });
  clock.jump(1000);
  expect(time.isUnsure).toBe(false);
  clock.jump(1);
  expect(time.isUnsure).toBe(true);
});

test.each([
  [0, -60_000, -60_000],
  [1, -1000, -1001],
  [0, -1000, 0],
  [999, 0, 0],
  [0, 1000, 1000],
])(
  'platform time: %i ms after a full second, a time that is %i ms off is a difference of %i ms',
  async (millis, off, ahead) => {
    const clock = new FakeClock();
    const second = clock.now();
    clock.advance(millis);
    const time = new PlatformTime(clock);
    await hear(time, second + off);
    expect(time.aheadMillis).toBe(ahead);
  },
);

test('platform time: while the machine slept only the wall clock advanced, and it is used', async () => {
  const clock = new FakeClock();
  const time = new PlatformTime(clock);
  const date = new Date(clock.now()).toUTCString();
  await time.listen(async () => ({ status: 200, headers: new Headers({ date }), body: '' }))(call);
  const before = time.now();
  clock.jump(3_600_000);
  expect(time.now() - before).toBe(3_600_000);
});
