import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSync } from '../../src/sync/create-sync.js';
import type { Feed, ReceivedPage } from '../../src/sync/ports.js';
import type { Sync } from '../../src/sync/sync.js';
import { MemoryMirror } from './support/memory-mirror.js';
import { acme, partsOf, sourceOf } from './support/parts.js';
import { Truth } from './support/truth.js';
import { settled, VirtualClock } from './support/virtual-clock.js';

const minute = 60_000;

let clock: VirtualClock;
let truth: Truth;
let sync: Sync;
let triggers: string[];

beforeEach(() => {
  clock = new VirtualClock();
  truth = new Truth(() => clock.now());
  truth.publish(1, 1);
});

afterEach(async () => {
  await sync.close();
  expect(clock.sleeping).toBe(0);
});

function build(feed: Feed): void {
  const parts = partsOf(new MemoryMirror(() => clock.now()), clock);
  const options = { ...parts.options, intervalMillis: minute, idleIntervalMillis: minute, concurrency: 1 };
  sync = createSync({ ...parts, sources: [sourceOf(feed)], options });
  triggers = [];
  sync.onTick((_, { report }) => void triggers.push(report.trigger));
}

test('leave: a source worked elsewhere ignores its timer and nudges but runs manual ticks', async () => {
  build(truth);
  sync.follow(acme);
  await sync.idle();
  await sync.leave(acme);
  sync.nudge(acme);
  sync.recheck(acme);
  await clock.advance(10 * minute);
  expect(triggers).toEqual(['start']);
  await sync.tick(acme);
  expect(triggers).toEqual(['start', 'manual']);
});

test('leave: a source that comes back ticks at once, as after a start, and then by its timer', async () => {
  build(truth);
  sync.follow(acme);
  await sync.idle();
  await sync.leave(acme);
  await clock.advance(minute);
  sync.follow(acme);
  await sync.idle();
  await clock.advance(2 * minute);
  expect(triggers.slice(0, 3)).toEqual(['start', 'start', 'timer']);
});

test('leave: waits for the running tick', async () => {
  let go = () => {};
  build({
    page: async (position): Promise<ReceivedPage> => {
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      return await truth.page(position);
    },
  });
  sync.follow(acme);
  await settled();
  expect(sync.isBusy(acme)).toBe(true);
  let left = false;
  const leaving = sync.leave(acme).then(() => {
    left = true;
  });
  await settled();
  expect(left).toBe(false);
  while (!left) {
    go();
    await settled();
  }
  await leaving;
  expect(sync.isBusy(acme)).toBe(false);
  expect(triggers).toEqual(['start']);
});
