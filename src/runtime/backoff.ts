import type { Random } from './random.js';

export interface BackoffPlan {
  readonly baseMillis: number;
  readonly capMillis: number;
}

/** Returns a delay with full jitter, between 0 and the exponential ceiling, so that the retries of many clients spread out. */
export function backoffMillis(plan: BackoffPlan, attempt: number, random: Random): number {
  const ceiling = Math.min(plan.capMillis, plan.baseMillis * 2 ** Math.min(attempt, 30));
  return Math.round(ceiling * random.fraction());
}
