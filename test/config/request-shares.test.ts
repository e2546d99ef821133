import { expect, test } from 'vitest';
import { type SharesWanted, sharesFor } from '../../src/config/request-shares.js';
import fc from '../support/property.js';

const minute = 60_000;
const hour = 60 * minute;
const usual: SharesWanted = {
  intervalSeconds: 60,
  idleIntervalSeconds: 180,
  requestsPerHour: 1_000,
  addressPerHour: 5_000,
};

test.each([
  ['1 source', 1, minute, 3 * minute, hour],
  ['5 sources, whose tokens cannot use up the address', 5, minute, 3 * minute, hour],
  ['33 sources', 33, minute, 3 * minute, hour],
  ['100 sources', 100, 3 * minute, 3 * minute, hour],
  ['500 sources', 500, 15 * minute, 15 * minute, hour],
  ['1,000 sources', 1_000, 30 * minute, 30 * minute, 2 * hour],
  ['10,000 sources', 10_000, 5 * hour, 5 * hour, 20 * hour],
])('request shares: %s', (_, sources, intervalMillis, idleIntervalMillis, grantMillis) => {
  expect(sharesFor(sources, usual)).toMatchObject({ intervalMillis, idleIntervalMillis, grantMillis });
});

test('request shares: a platform without limits, or whose limit of an address is unknown, changes no interval', () => {
  for (const limits of [{ requestsPerHour: null }, { addressPerHour: null }])
    expect(sharesFor(10_000, { ...usual, ...limits })).toEqual({
      intervalMillis: minute,
      idleIntervalMillis: 3 * minute,
      grantMillis: hour,
      timed: null,
    });
});

test('request shares: timed ticks and grant checks never need more than half of the address, and no share is empty', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 100_000 }),
      fc.integer({ min: 1, max: 86_400 }),
      fc.integer({ min: 1, max: 86_400 }),
      (sources, intervalSeconds, idleIntervalSeconds) => {
        const shares = sharesFor(sources, { ...usual, intervalSeconds, idleIntervalSeconds });
        expect(shares.intervalMillis).toBeGreaterThanOrEqual(intervalSeconds * 1_000);
        expect(shares.idleIntervalMillis).toBeGreaterThanOrEqual(idleIntervalSeconds * 1_000);
        const { timed } = shares;
        if (timed === null) {
          expect(sources).toBeLessThanOrEqual(5);
          return;
        }
        expect(timed.neededPerHour).toBeLessThanOrEqual(2_500 * (1 + 1e-9));
        expect(timed.perHour).toBe(2_500);
        expect(timed.perHour + timed.forWebhooks + timed.forListings).toBeLessThanOrEqual(5_000);
        expect(Math.min(timed.atOnce, timed.forWebhooks, timed.forListings)).toBeGreaterThan(0);
      },
    ),
  );
});
