import type { Upkeep } from '../../src/daemon/mirror-parts.js';

export interface Planted {
  /** Replaces jobs of the daemon's upkeep. */
  readonly fault: Partial<Upkeep>;
  /** The day from which a measurement can show it: people part from day 11 on, and rows are first written on day 6. */
  readonly fromDay: number;
  /** A part of the violation that notices it. */
  readonly shows: string;
}

/** Faults for a check of the judge: what a database leaves undone while it reports success. */
export const planted: Readonly<Record<string, Planted>> = {
  scrub: { fault: { scrubAlone: async () => ({ kind: 'clean' }) }, fromDay: 20, shows: 'erased addresses' },
  history: { fault: { purgeHistory: async () => 0 }, fromDay: 130, shows: 'rows of history_rows' },
  ticks: { fault: { purgeTicks: async () => 0 }, fromDay: 100, shows: 'rows of tick_rows' },
  budgets: { fault: { purgeBudgets: async () => 0 }, fromDay: 20, shows: 'rows of budgets' },
};
