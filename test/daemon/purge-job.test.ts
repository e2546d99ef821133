import { expect, test } from 'vitest';
import { PurgeJob, type PurgeJobParts } from '../../src/daemon/purge-job.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const now = Date.parse('2026-10-20T12:00:00.000Z');
const dayMillis = 86_400_000;

/** A job that looks every half minute, and the minutes in which it asked the platform and purged. */
function purging({ deleted = 0, ...more }: { deleted?: number; platform?: PurgeJobParts['platform'] } = {}) {
  const clock = new VirtualClock(now);
  const minute = () => (clock.monotonic() - now) / 60_000;
  const asked: number[] = [];
  const purged: number[] = [];
  /** The times that were given to the purges. */
  const times: number[] = [];
  const logged: unknown[] = [];
  const state = { heardAt: now, isAway: false, isFailing: false };
  const log = (fields: object, message: string) => logged.push([message, fields]);
  const job = new PurgeJob({
    clock,
    logger: { ...silentLogger, info: log, warn: log },
    platform: {
      aheadMillis: 0,
      get sinceObservedMillis() {
        return clock.monotonic() - state.heardAt;
      },
    },
    askPlatform: async () => {
      asked.push(minute());
      if (!state.isAway) state.heardAt = clock.monotonic();
    },
    purge: async (at) => {
      if (state.isFailing) throw new Error('another program holds the write lock');
      purged.push(minute());
      times.push(at);
      return deleted;
    },
    ...more,
  });
  const pass = async (minutes: number) => {
    for (let look = 0; look < minutes * 2; look += 1) {
      await job.run(new AbortController().signal).catch(() => {});
      clock.jump(30_000);
    }
  };
  return { clock, state, pass, asked, purged, times, logged };
}

test('expired rows are deleted every hour, and after a failure by the next look', async () => {
  const { state, pass, asked, purged, times, logged } = purging({ deleted: 2 });
  await pass(110);
  state.isFailing = true;
  await pass(20);
  state.isFailing = false;
  await pass(65);
  expect(purged).toEqual([0, 60, 130, 190]);
  expect(times).toEqual(purged.map((minute) => now + minute * 60_000));
  expect(asked).toEqual([]);
  expect(logged[0]).toEqual(['expired entries were deleted', { count: 2 }]);
});

test('after the clock was set, nothing expires for an hour', async () => {
  const { clock, state, pass, purged, times, logged } = purging();
  await pass(1);
  clock.setBack(-40 * dayMillis);
  await pass(60);
  clock.setBack(40 * dayMillis);
  state.heardAt = clock.monotonic();
  await pass(60);
  expect(purged).toEqual([0]);
  state.heardAt = clock.monotonic();
  // A clock that is adjusted by some minutes was not set.
  clock.setBack(10 * 60_000);
  await pass(60);
  expect(purged).toEqual([0, 180]);
  expect(times.at(-1)).toBe(now + 170 * 60_000);
  clock.setBack(10.5 * 60_000);
  await pass(60);
  expect(purged).toEqual([0, 180]);
  const kept = 'the clock was set: old entries are kept for another hour';
  expect(logged).toEqual([kept, kept, kept].map((message) => [message, {}]));
});

test('after the clock was set, nothing expires before the platform has answered again', async () => {
  const { clock, state, pass, asked, purged, times } = purging();
  await pass(130);
  // With a clock that is years ahead, no certificate of the platform is valid.
  clock.setBack(-4_000 * dayMillis);
  state.isAway = true;
  await pass(300);
  expect([purged, asked[0]]).toEqual([[0, 60, 120], 240]);
  clock.setBack(4_000 * dayMillis);
  state.isAway = false;
  await pass(200);
  expect(purged.slice(0, 4)).toEqual([0, 60, 120, 490]);
  expect(Math.max(...times)).toBeLessThan(now + dayMillis);
});

test('nothing expires before the platform has answered, and a clock that is ahead of the platform expires nothing early', async () => {
  const platform = { aheadMillis: 0, sinceObservedMillis: Number.POSITIVE_INFINITY };
  const { pass, purged, times } = purging({ platform });
  await pass(120);
  expect(purged).toEqual([]);
  // The process was started with a clock 40 days ahead.
  Object.assign(platform, { aheadMillis: -40 * dayMillis, sinceObservedMillis: 0 });
  await pass(1);
  // A sandbox whose time was advanced expires nothing early either.
  Object.assign(platform, { aheadMillis: 90 * dayMillis });
  await pass(60);
  expect(times).toEqual([now + 120 * 60_000 - 40 * dayMillis, now + 180 * 60_000]);
});

test('a due purge asks a platform that has not answered for its time, at most every ten minutes', async () => {
  const { state, pass, asked, purged } = purging();
  Object.assign(state, { heardAt: Number.NEGATIVE_INFINITY, isAway: true });
  await pass(9);
  expect(asked).toEqual([]);
  await pass(15);
  state.isAway = false;
  await pass(70);
  expect(asked).toEqual([10, 20, 30]);
  expect(purged).toEqual([30, 90]);
});
