import { expect, test } from 'vitest';
import { movableClock } from '../../../src/platform/sandbox/clock.js';
import { manualClock } from '../../support/manual-clock.js';

test('movable clock: a wait ends when the clock is moved past its end, and not before', async () => {
  const clock = movableClock(manualClock(1000));
  let over = false;
  const waiting = clock.wait(60_000).then(() => {
    over = true;
  });
  clock.advance(59_999);
  await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(over).toBe(false);
  clock.advance(1);
  await waiting;
  expect(clock.now()).toBe(61_000);
});

test('movable clock: moving back changes the wall clock but not the monotonic one', () => {
  const clock = movableClock(manualClock(5000));
  clock.advance(2000);
  const before = clock.monotonic();
  clock.advance(1000 - clock.now());
  expect(clock.now()).toBe(1000);
  expect(clock.monotonic()).toBe(before);
});

test('movable clock: a listener is called on every move until it is removed', () => {
  const clock = movableClock(manualClock(0));
  let heard = 0;
  const stop = clock.onMove(() => {
    heard += 1;
  });
  clock.advance(1);
  clock.advance(50 - clock.now());
  stop();
  clock.advance(1);
  expect(heard).toBe(2);
});

test('movable clock: aborting a wait ends it', async () => {
  const clock = movableClock(manualClock(0));
  const stop = new AbortController();
  const waiting = clock.wait(1000, stop.signal);
  stop.abort();
  await waiting;
  expect(clock.now()).toBe(0);
});

test('movable clock: a move that a listener refuses leaves the clock where it was, and wakes nobody', async () => {
  const clock = movableClock(manualClock(1000));
  let isFull = true;
  clock.onMove(() => {
    if (isFull) throw new Error('the disk is full');
  });
  let over = false;
  const waiting = clock.wait(60_000).then(() => {
    over = true;
  });
  expect(() => clock.advance(60_000)).toThrow('full');
  await new Promise((resolve) => setImmediate(resolve));
  expect([clock.now(), clock.monotonic(), clock.offsetMillis, over]).toEqual([1000, 1000, 0, false]);
  isFull = false;
  clock.advance(60_000);
  await waiting;
});
