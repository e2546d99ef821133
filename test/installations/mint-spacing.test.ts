import { expect, test } from 'vitest';
import { mintWaitMillis } from '../../src/installations/mint-spacing.js';
import { at } from './fake-application.js';

const now = Date.parse(at(0));
const minutes = 60_000;

test.each([
  [0, null, 0],
  [1, 0, 1 * minutes],
  [2, null, 0],
  [2, 0, 2 * minutes],
  [2, 1.5 * minutes, 0.5 * minutes],
  [3, 4 * minutes, 0],
  [12, 0, 24 * 60 * minutes],
  [10_000, 0, 24 * 60 * minutes],
])('after %i requests, the last one %s ms ago, the next one waits %i ms', (mints, ago, expected) => {
  const lastMintAt = ago === null ? null : at(-ago / 86_400_000);
  expect(mintWaitMillis(mints, lastMintAt, now)).toBe(expected);
});

test('a time in the future, written under a wrong clock, does not delay the next request', () => {
  expect(mintWaitMillis(3, at(400), now)).toBe(0);
});

test('whatever is lost, an installation costs at most eleven tokens in its first day and one a day later', () => {
  let time = now;
  let mints = 0;
  const days: number[] = [];
  while (time < now + 4 * 86_400_000) {
    const wait = mintWaitMillis(mints, mints === 0 ? null : at((time - now) / 86_400_000), time);
    time += wait;
    if (time >= now + 4 * 86_400_000) break;
    mints += 1;
    days.push(Math.floor((time - now) / 86_400_000));
  }
  expect([0, 1, 2, 3].map((day) => days.filter((one) => one === day).length)).toEqual([11, 1, 1, 1]);
});
