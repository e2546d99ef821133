import { seededRandom } from '../../../src/runtime/random.js';

/** Seeded choices in the terms of a generator. */
export interface Chance {
  happens(share: number): boolean;
  pick<Value>(values: readonly Value[]): Value;
  whole(from: number, to: number): number;
}

export function chanceOf(seed: number): Chance {
  const random = seededRandom(seed);
  const whole = (from: number, to: number): number => from + Math.floor(random.fraction() * (to - from + 1));
  return {
    happens: (share) => random.fraction() < share,
    whole,
    pick: (values) => {
      if (values.length === 0) throw new Error('nothing to choose from');
      return values[whole(0, values.length - 1)] as (typeof values)[number];
    },
  };
}
