import { expect, test } from 'vitest';
import type { Secret } from '../../src/config/secrets.js';
import { SecretRing } from '../../src/endpoint/secret-ring.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { manualClock } from '../support/manual-clock.js';

/** A secret whose reading the test completes. */
function ringOf(first: string) {
  const clock = manualClock(0);
  let value = first;
  const readings: { readonly end: (failed?: Error) => void }[] = [];
  let held = false;
  const secret: Pick<Secret, 'reveal'> = {
    reveal: () =>
      held
        ? new Promise((resolve, reject) => {
            readings.push({ end: (failed) => (failed === undefined ? resolve(value) : reject(failed)) });
          })
        : Promise.resolve(value),
  };
  const ring = new SecretRing([secret as Secret], clock, silentLogger, {
    shared: false,
    secrets: () => ['managed'],
    reread: async () => {},
  });
  return {
    ring,
    clock,
    readings,
    rotateTo: (next: string) => {
      value = next;
      held = true;
    },
  };
}

test('secrets are read again in the background, and newest() waits for a running reading', async () => {
  const { ring, clock, readings, rotateTo } = ringOf('old');
  await ring.load();
  rotateTo('new');
  expect(ring.values()).toEqual(['managed', 'old']);
  expect(await ring.newest()).toBeNull();
  clock.advance(30_001);
  expect(ring.values()).toEqual(['managed', 'old']);
  const newest = ring.newest();
  expect(ring.values()).toEqual(['managed', 'old']);
  expect(readings).toHaveLength(1);
  readings[0]?.end();
  expect(await newest).toEqual(['managed', 'new']);
  expect(ring.values()).toEqual(['managed', 'new']);
  expect(await ring.newest()).toBeNull();
});

test('a failed reading keeps the previous secrets and is not retried at once', async () => {
  const { ring, clock, readings, rotateTo } = ringOf('old');
  await ring.load();
  rotateTo('new');
  clock.advance(30_001);
  ring.values();
  const newest = ring.newest();
  readings[0]?.end(new Error('the vault is closed'));
  expect(await newest).toEqual(['managed', 'old']);
  ring.values();
  expect(readings).toHaveLength(1);
});

test('an unknown signature looks once a second for secrets that another host stored, and others wait for that look', async () => {
  const clock = manualClock(0);
  let looks = 0;
  let go = () => {};
  const ring = new SecretRing([], clock, silentLogger, {
    shared: true,
    secrets: () => [`managed ${looks}`],
    reread: () => {
      looks += 1;
      return new Promise((resolve) => {
        go = resolve;
      });
    },
  });
  await ring.load();
  const both = Promise.all([ring.newest(), ring.newest()]);
  go();
  expect(await both).toEqual([['managed 1'], ['managed 1']]);
  clock.advance(999);
  expect(await ring.newest()).toBeNull();
  clock.advance(1);
  const next = ring.newest();
  go();
  expect(await next).toEqual(['managed 2']);
});
