import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSync } from '../../src/sync/create-sync.js';
import type { Feed } from '../../src/sync/ports.js';
import type { Sync } from '../../src/sync/sync.js';
import { MemoryMirror } from './support/memory-mirror.js';
import { acme, partsOf, sourceOf } from './support/parts.js';
import { Truth } from './support/truth.js';
import { VirtualClock } from './support/virtual-clock.js';

const minute = 60_000;

let clock: VirtualClock;
let truth: Truth;
let sync: Sync;
let ticks: string[];

beforeEach(() => {
  clock = new VirtualClock();
  truth = new Truth(() => clock.now());
  for (let number = 1; number <= 30; number += 1) truth.publish(number, 1);
});

afterEach(async () => {
  await sync.close();
  expect(clock.sleeping).toBe(0);
});

function build(feed: Feed): void {
  const parts = partsOf(new MemoryMirror(() => clock.now()), clock);
  const options = { ...parts.options, intervalMillis: minute, idleIntervalMillis: minute, concurrency: 1 };
  sync = createSync({ ...parts, sources: [sourceOf(feed)], options });
  ticks = [];
  sync.onTick((_, { report }) => void ticks.push(`${report.trigger} ${report.outcome}`));
}

test('pause: neither timer nor webhook starts a tick, only a request of a user', async () => {
  build(truth);
  sync.start();
  await sync.idle();
  await sync.pause(acme);
  sync.nudge(acme);
  sync.recheck(acme);
  sync.databaseIsBack({ hasMissed: true });
  await clock.advance(60 * minute);
  expect(ticks).toEqual(['start done']);
  await sync.tick(acme);
  expect(ticks).toEqual(['start done', 'manual done']);
});

test('pause: a webhook that came meanwhile is worked at once after the resume', async () => {
  build(truth);
  sync.start();
  await sync.idle();
  await sync.pause(acme);
  truth.publish(1, 2);
  sync.nudge(acme);
  await clock.advance(10 * minute);
  sync.resume(acme);
  await sync.idle();
  expect(ticks).toEqual(['start done', 'webhook done']);
});

test('pause: the running tick ends after the page it writes, and the resume continues from there', async () => {
  let reads = 0;
  let paused: Promise<void> | undefined;
  build({
    page: async (position) => {
      reads += 1;
      const page = await truth.page(position);
      if (reads === 2) paused = sync.pause(acme);
      return page;
    },
  });
  sync.start();
  await clock.advance(1);
  await paused;
  expect(ticks).toEqual(['start stopped']);
  const before = reads;
  await clock.advance(10 * minute);
  expect(reads).toBe(before);
  sync.resume(acme);
  await sync.idle();
  expect(ticks.at(-1)).toMatch(/ done$/);
});

test('pause: a resume before the running tick has ended starts the next tick at once', async () => {
  let reads = 0;
  build({
    page: async (position) => {
      reads += 1;
      const page = await truth.page(position);
      if (reads === 2) {
        void sync.pause(acme);
        sync.resume(acme);
      }
      return page;
    },
  });
  sync.start();
  await sync.idle();
  await clock.advance(1);
  await sync.idle();
  expect(ticks).toEqual(['start stopped', 'start done']);
});

test('pause: a webhook whose tick the pause cut off is worked after the resume', async () => {
  let cut = false;
  build({
    page: async (position) => {
      const page = await truth.page(position);
      if (cut) {
        cut = false;
        void sync.pause(acme);
      }
      return page;
    },
  });
  sync.start();
  await sync.idle();
  for (let number = 1; number <= 30; number += 1) truth.publish(number, 2);
  cut = true;
  sync.nudge(acme);
  await clock.advance(1);
  expect(ticks.slice(1)).toEqual(['webhook stopped']);
  sync.resume(acme);
  await sync.idle();
  expect(ticks.slice(1)).toEqual(['webhook stopped', 'webhook done']);
});
