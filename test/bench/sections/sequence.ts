import { changeSeen, followers, withFollower } from '../followers.js';
import { type Measure, measure, quantile, type Section } from '../measures.js';

/** The first changes are shown one by one, the rest in blocks of this size. */
const shown = 10;

export const sequence: Section = {
  name: 'sequence',
  each: false,
  says:
    'Changes one after the other, each made when the one before was visible: how long each took, in order, in a fresh ' +
    'hour of 1,000 requests; real time, connections kept alive. Compared with the lean floor, which has no budget. A wait ' +
    'that depends on the changes before shows as a ladder. Measured once, whatever the rounds.',
  measure: async (scale) => {
    const took = new Map<string, readonly number[]>();
    for (const who of followers)
      took.set(
        who,
        await withFollower(scale, who, [1_000], 1_000, async (following) => {
          const millis: number[] = [];
          while (millis.length < scale.sequence) millis.push(await changeSeen(following, millis.length + 1));
          return millis;
        }),
      );
    const ours = took.get('rosterd') ?? [];
    const floor = took.get('lean floor') ?? [];
    const of = (millis: readonly number[], share: number) => [quantile(millis, share)];
    return [
      measure(`median of ${ours.length} changes`, 'ms', of(ours, 0.5), { most: 50 }),
      measure('p99', 'ms', of(ours, 0.99), { most: 250 }),
      measure('median of the lean floor', 'ms', of(floor, 0.5)),
      measure('p99 of the lean floor', 'ms', of(floor, 0.99)),
      ...ordered(ours),
    ];
  },
};

/** The first changes one by one, then blocks with their median, lowest and highest. */
export function ordered(millis: readonly number[]): Measure[] {
  const found = millis.slice(0, shown).map((one, at) => measure(`change ${at + 1}`, 'ms', [one]));
  // Ten blocks at most, however many changes there are.
  const block = Math.max(shown, Math.ceil((millis.length - shown) / shown));
  for (let from = shown; from < millis.length; from += block) {
    const to = Math.min(from + block, millis.length);
    found.push(measure(`changes ${from + 1} to ${to}`, 'ms', millis.slice(from, to)));
  }
  return found;
}
