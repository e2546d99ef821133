import type { SharedRequests } from './ports.js';
import type { BudgetLeft } from './webhook-spacing.js';

const hourMillis = 60 * 60_000;

/**
 * Returns the milliseconds for which listings wait: while less is left than webhooks and the timed ticks of the rest of the
 * window may need.
 */
export function listingWait(timed: SharedRequests['timed'], address: BudgetLeft | null): number {
  if (timed === null || address === null) return 0;
  const { left, resetsInMillis } = address;
  const free = left - timed.forWebhooks;
  if (free <= 0) return Math.max(0, resetsInMillis);
  // The need shrinks as the window runs out.
  const spareAt = (free / timed.neededPerHour) * hourMillis;
  return Math.max(0, resetsInMillis - spareAt);
}
