import type { Laboratory } from './run-seed.js';
import { invariantOf, shrink, storyOf } from './shrink.js';

/** What the caller wants for each seed besides its verdict. */
export interface Wish {
  /**
   * One seed in this many runs twice, and both runs must take the same course. Null where runs may differ.
   */
  readonly twiceEvery: number | null;
  readonly shrinks: boolean;
  readonly keepsLines: boolean;
}

/** The result of a seed, as sent from one process to another. */
export interface Tried {
  readonly seed: number;
  readonly violation: string | null;
  /** What is left of its plan after shrinking. */
  readonly story: string | null;
  /** Two runs of one seed must agree on it. */
  readonly trace: number;
  readonly events: number;
  readonly virtualMillis: number;
  readonly processorMillis: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly lines: readonly string[];
}

export async function trySeed(laboratory: Laboratory, seed: number, wish: Wish): Promise<Tried> {
  const begun = process.cpuUsage();
  const verdict = await laboratory.seed(seed, wish.keepsLines);
  let { violation } = verdict;
  if (violation === null && wish.twiceEvery !== null && seed % wish.twiceEvery === 0) {
    const again = await laboratory.seed(seed);
    verdict.counters.add('run twice');
    if (again.trace !== verdict.trace)
      violation = `determinism: two runs of the seed took different courses (${verdict.trace}, ${again.trace})`;
  }
  const { user, system } = process.cpuUsage(begun);
  const invariant = wish.shrinks ? invariantOf(verdict) : null;
  const story =
    invariant === null ? null : storyOf(await shrink(laboratory, laboratory.plan(seed), invariant));
  const { trace, events, virtualMillis, counters, lines } = verdict;
  return {
    seed,
    violation,
    story,
    trace,
    events,
    virtualMillis,
    lines,
    processorMillis: (user + system) / 1_000,
    counts: counters.counts,
  };
}
