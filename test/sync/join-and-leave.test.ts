import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import type { Position } from '../../src/domain/position.js';
import { createSync } from '../../src/sync/create-sync.js';
import type { Feed, ReceivedPage, SyncSource } from '../../src/sync/ports.js';
import type { Sync } from '../../src/sync/sync.js';
import { MemoryMirror } from './support/memory-mirror.js';
import { acme, partsOf, sourceOf } from './support/parts.js';
import { Truth } from './support/truth.js';
import { settled, VirtualClock } from './support/virtual-clock.js';

const minute = 60_000;
const beta = 'beta' as SourceName;

let clock: VirtualClock;
let mirror: MemoryMirror;
let truth: Truth;
let sync: Sync;
let ticks: string[];

beforeEach(() => {
  clock = new VirtualClock();
  mirror = new MemoryMirror(() => clock.now());
  truth = new Truth(() => clock.now());
  for (let number = 1; number <= 4; number += 1) truth.publish(number, number);
});

afterEach(async () => {
  await sync.close();
  expect(clock.sleeping, 'sleepers left behind').toBe(0);
});

function build(sources: readonly SyncSource[], concurrency = 4): void {
  const parts = partsOf(mirror, clock);
  const options = { ...parts.options, intervalMillis: minute, idleIntervalMillis: minute, concurrency };
  sync = createSync({ ...parts, sources, options });
  ticks = [];
  sync.onTick((source, { report }) => void ticks.push(`${source} ${report.trigger} ${report.outcome}`));
}

const named = (name: SourceName, feed: Feed = truth): SyncSource => ({
  ...sourceOf(feed),
  identity: { name, fingerprint: 'f1' },
});

/** A feed whose pages wait until the test releases one. */
class Gate implements Feed {
  readonly waiting: (() => void)[] = [];

  async page(position: Position): Promise<ReceivedPage> {
    await new Promise<void>((resolve) => void this.waiting.push(resolve));
    return await truth.page(position);
  }

  async release(): Promise<void> {
    await settled();
    for (const go of this.waiting.splice(0)) go();
    await settled();
  }
}

test('add: a source that is added after the start ticks at once and then by its timer', async () => {
  build([sourceOf(truth)]);
  sync.start();
  await sync.idle();
  sync.add([named(beta)]);
  await sync.idle();
  expect(ticks).toEqual(['acme start done', 'beta start done']);
  await clock.advance(2 * minute);
  expect(ticks.filter((tick) => tick === 'beta timer done').length).toBeGreaterThan(0);
});

test('add: before the start, a source that is added ticks on request only', async () => {
  build([]);
  sync.add([named(beta)]);
  await clock.advance(2 * minute);
  expect(ticks).toEqual([]);
  sync.nudge(beta);
  await sync.idle();
  sync.start();
  await clock.advance(2 * minute);
  expect(ticks.length).toBeGreaterThan(1);
});

test('add: where a fleet assigns sources, one that is added waits until it is followed', async () => {
  build([sourceOf(truth)]);
  await sync.leaveAll();
  sync.add([named(beta)]);
  sync.nudge(beta);
  await clock.advance(2 * minute);
  expect(ticks).toEqual([]);
  sync.follow(beta);
  await sync.idle();
  expect(ticks).toEqual(['beta start done']);
});

test('add: refuses a second source of a name, also while the first is being removed', async () => {
  const gate = new Gate();
  build([named(acme, gate)]);
  expect(() => sync.add([named(acme)])).toThrow('two sources are called acme');
  sync.start();
  await settled();
  const removed = sync.remove(acme);
  expect(() => sync.add([named(acme)])).toThrow('two sources are called acme');
  await gate.release();
  await removed;
  sync.add([named(acme)]);
  await sync.idle();
  expect(ticks).toEqual(['acme start stopped', 'acme start done']);
});

test('remove: ends the running tick after its page, keeps the page and releases the lease', async () => {
  const gate = new Gate();
  build([named(acme, gate), named(beta)]);
  sync.start();
  await settled();
  let isRemoved = false;
  const removed = sync.remove(acme).then(() => {
    isRemoved = true;
  });
  await settled();
  expect(isRemoved).toBe(false);
  await gate.release();
  await removed;
  expect(ticks).toContain('acme start stopped');
  expect(mirror.of(acme).holder).toBeNull();
  ticks.length = 0;
  await clock.advance(3 * minute);
  expect(ticks.filter((tick) => tick.startsWith('acme'))).toEqual([]);
  expect(ticks.length).toBeGreaterThan(1);
});

test('remove: a source that waits for a slot never ticks', async () => {
  const gate = new Gate();
  build([named(acme, gate), named(beta)], 1);
  sync.start();
  await settled();
  const removed = sync.remove(beta);
  while (ticks.length === 0) await gate.release();
  await removed;
  expect(ticks).toEqual(['acme start done']);
});

test('remove: what still arrives for a removed source does nothing, and a tick on request is refused', async () => {
  build([sourceOf(truth)]);
  sync.start();
  await sync.idle();
  await sync.remove(acme);
  ticks.length = 0;
  sync.nudge(acme);
  sync.recheck(acme);
  sync.follow(acme);
  sync.resume(acme);
  await sync.leave(acme);
  await sync.pause(acme);
  await sync.remove(acme);
  expect(sync.isBusy(acme)).toBe(false);
  expect(sync.spacingOf(acme).reason).toBe('elsewhere');
  expect(() => sync.tick(acme)).toThrow('no source is called acme');
  await clock.advance(3 * minute);
  expect(ticks).toEqual([]);
  await sync.idle();
});
