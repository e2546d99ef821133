import { afterEach, beforeEach, expect, test } from 'vitest';
import { type DatabaseReturn, watchReturn } from '../../src/daemon/database-return.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';

let clock: VirtualClock;
let asked: number[];
let back: number[];
let up: boolean;
let lines: unknown[];
let watch: DatabaseReturn;

beforeEach(() => {
  clock = new VirtualClock(0);
  asked = [];
  back = [];
  up = false;
  lines = [];
  watch = watchReturn({
    ask: async () => {
      asked.push(clock.monotonic());
      if (!up) throw new Error('nobody listens');
    },
    clock,
    logger: { ...silentLogger, info: (_, message) => void lines.push(message) },
    onBack: () => void back.push(clock.monotonic()),
  });
});

afterEach(async () => {
  await watch.close();
  expect(clock.sleeping, 'sleepers left behind').toBe(0);
});

test('one probe asks an unreachable database after 100 ms and then with growing waits, up to one second', async () => {
  for (let part = 0; part < 20; part += 1) watch.away();
  await clock.advance(5_000);
  expect(asked).toEqual([100, 300, 700, 1_500, 2_500, 3_500, 4_500]);
  up = true;
  await clock.advance(1_000);
  expect(back).toEqual([5_500]);
  await clock.advance(60_000);
  expect(asked).toHaveLength(8);
});

test('a database that answers the probe but fails the work wakes its waiters at most once a second, and is logged once a minute', async () => {
  up = true;
  for (let second = 0; second < 100; second += 1) {
    watch.away();
    await clock.advance(100);
  }
  expect(back.length).toBeLessThanOrEqual(14);
  expect(lines).toEqual(['the database is back']);
  await clock.advance(1_000);
  watch.works();
  back.length = 0;
  watch.away();
  await clock.advance(100);
  expect(back).toHaveLength(1);
  expect(lines).toHaveLength(1);
  await clock.advance(60_000);
  watch.works();
  watch.away();
  await clock.advance(100);
  expect(lines).toHaveLength(2);
});

test('a probe closed during an outage stops asking and wakes nothing', async () => {
  watch.away();
  await clock.advance(100);
  up = true;
  await watch.close();
  await settled();
  expect([asked, back]).toEqual([[100], []]);
});
