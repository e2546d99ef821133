import { expect, test } from 'vitest';
import { outlived, twiceAsLong } from '../../src/daemon/former-leader.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { FakeClock } from '../client/fake-clock.js';

const hour = 3_600_000;

/** Returns the ages of the files that a daemon deletes which led before, of files of these ages; three are kept. */
async function deleted(ages: readonly number[], isLed = true, otherAheadMillis = 0) {
  const clock = new FakeClock();
  const files = ages.map((age) => ({ age, made_at: instantFromMillis(clock.now() - age) }));
  const leader = { clock, isLed: () => isLed, otherNow: async () => clock.now() + otherAheadMillis };
  const kept = twiceAsLong({ everyMillis: hour, keep: 3 });
  return (await outlived(leader, () => files, kept)).map(({ age }) => age);
}

test.each<[string, readonly number[], readonly number[]]>([
  ['older than those that are kept, except the newest', [4 * hour, 5 * hour], [5 * hour]],
  ['exactly as old as the oldest that is kept: none', [2 * hour, 3 * hour], []],
  ['a moment older', [2 * hour, 3 * hour + 1], [3 * hour + 1]],
  ['more than are kept', [0, 1, 2, 3], [3]],
  ['the newest, twice as old: none', [6 * hour], []],
  ['the newest, a moment more than twice as old', [6 * hour + 1], [6 * hour + 1]],
  ['dated in the future: none', [-2 * hour, -hour], []],
])('a former leader deletes files: %s', async (_, ages, expected) => {
  expect(await deleted(ages)).toEqual(expected);
});

test('a former leader deletes nothing while none leads, or while another clock says that nothing is too old', async () => {
  expect(await deleted([9 * hour, 9 * hour], false)).toEqual([]);
  expect(await deleted([9 * hour, 9 * hour], true, -8 * hour)).toEqual([]);
  expect(await deleted([9 * hour, 9 * hour], true, 8 * hour)).toEqual([9 * hour, 9 * hour]);
});
