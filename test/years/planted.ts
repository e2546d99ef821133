import type { Upkeep } from '../../src/daemon/mirror-parts.js';

/** Faults for a check of the judge: what a database leaves undone while it reports success. */
export const planted: Readonly<Record<string, Partial<Upkeep>>> = {
  scrub: { scrubAlone: async () => ({ kind: 'clean' }) },
  history: { purgeHistory: async () => 0 },
  ticks: { purgeTicks: async () => 0 },
  budgets: { purgeBudgets: async () => 0 },
};
