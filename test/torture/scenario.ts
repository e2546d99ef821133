import type { Random } from '../../src/runtime/random.js';
import type { OutsidePrograms } from '../judges/outside-programs.js';
import type { Counters } from './counters.js';
import type { Program } from './life.js';
import type { Place } from './place.js';

/** One kind of mistreatment. The expensive setup is opened once, and many rounds are played in it. */
export interface Scenario {
  readonly name: string;
  open(setting: Setting): Promise<Opened>;
}

/** What a scenario plays with. */
export interface Setting {
  readonly program: Program;
  /** A server that all scenarios share; null keeps the mirrors in files. A scenario that harms a server starts its own. */
  readonly server: string | null;
  /** Programs that judge as well; none by default. */
  readonly programs?: OutsidePrograms;
}

export interface Opened {
  /** Throws a `Violation` if a guarantee is broken. Only `random` decides what a round does. */
  round(random: Random, counters: Counters): Promise<void>;
  close(): Promise<void>;
}

/** Plays rounds in one place; each ends every process it started, however it ends. */
export function roundsIn(place: Place, round: (random: Random, counters: Counters) => Promise<void>): Opened {
  return {
    round: async (random, counters) => {
      try {
        await round(random, counters);
      } catch (error) {
        await place.killAll();
        throw error;
      }
    },
    close: place.close,
  };
}

export const pick = <Value>(random: Random, from: readonly Value[]): Value =>
  from[Math.floor(random.fraction() * from.length)] as Value;
export const between = (random: Random, low: number, high: number): number =>
  low + Math.floor(random.fraction() * (high - low + 1));
