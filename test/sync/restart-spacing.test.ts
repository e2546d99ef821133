import { describe, expect, test } from 'vitest';
import { instantFromMillis } from '../../src/domain/instant.js';
import { mayStart, relistAfter, relistNames, restartAfter } from '../../src/sync/restart-spacing.js';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const now = Date.parse('2026-11-01T12:00:00Z');

/** The minutes until a listing may start; null: at once. */
const minutesUntil = (notBefore: string | null) =>
  notBefore === null ? null : (Date.parse(notBefore) - now) / minute;
const listed = (restarts: number, ago: number) => ({ at: instantFromMillis(now - ago), restarts });

describe('a listing that a 410 interrupted', () => {
  test.each([
    [0, 1],
    [1, 4],
    [2, 16],
    [3, 60],
    [4, 240],
    [50, 240],
  ])('after %i restarts it starts again %i minutes later, and is counted', (restarts, minutes) => {
    const { restarts: counted, notBefore } = restartAfter(restarts, now);
    expect([counted, minutesUntil(notBefore)]).toEqual([restarts + 1, minutes]);
  });
});

describe('a position of a complete listing that expired', () => {
  test.each([
    [0, null],
    [1, null],
    [2, 4],
    [3, 60],
    [4, 240],
    [50, 240],
  ])(
    'within a day, after %i restarts: the next listing starts %s minutes later (null: at once)',
    (restarts, minutes) => {
      const { restarts: counted, notBefore } = relistAfter(listed(restarts, day - 1), now);
      expect([counted, minutesUntil(notBefore)]).toEqual([restarts + 1, minutes]);
    },
  );

  test('after a day, the count begins anew', () => {
    expect(relistAfter(listed(9, day), now)).toEqual({ restarts: 0, notBefore: null });
  });
});

describe('names that may be read again', () => {
  test.each([
    [0, 0],
    [1, 0],
    [2, 4 * minute],
    [3, hour],
    [4, 4 * hour],
  ])(
    'after %i restarts they are listed once the last listing is %i ms old, and not before',
    (restarts, age) => {
      expect(relistNames(listed(restarts, age), now)).toEqual({ restarts: restarts + 1, notBefore: null });
      if (age > 0) expect(relistNames(listed(restarts, age - 1), now)).toBeNull();
    },
  );

  test('a day after the last listing, the count begins anew', () => {
    expect(relistNames(listed(9, day - 1), now)?.restarts).toBe(10);
    expect(relistNames(listed(9, day), now)).toEqual({ restarts: 1, notBefore: null });
  });

  test('a listing of this moment is no listing of the future', () => {
    expect(relistNames(listed(3, 0), now)).toBeNull();
  });

  test('a listing dated in the future, from before the clock was set back, delays nothing', () => {
    expect(relistNames(listed(3, -1), now)).toEqual({ restarts: 4, notBefore: null });
  });
});

test.each([
  ['without a time', null, true],
  ['at its time', 0, true],
  ['before its time', 1, false],
  ['four hours before its time', 4 * hour, false],
  ['with a time that no spacing explains', 4 * hour + 1, true],
])('whether a listing may start: %s', (_, wait, may) => {
  expect(mayStart(wait === null ? null : instantFromMillis(now + wait), now)).toBe(may);
});
