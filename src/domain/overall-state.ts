/**
 * The state of a source among many, in one word, worst first. `halted` waits for a person and does not sync. `failing`
 * retries by itself. `stale` has not ticked in time. `attention` follows the feed but differs from the platform.
 * `waiting` has not caught up. `paused` waits for `resume`. `disconnected` lost its installation. `erased` has no rows.
 */
export const overallStates = [
  'halted',
  'failing',
  'stale',
  'attention',
  'waiting',
  'paused',
  'disconnected',
  'fine',
  'erased',
] as const;

export type OverallState = (typeof overallStates)[number];

const ranks = new Map<OverallState, number>(overallStates.map((state, rank) => [state, rank]));

interface Ranked {
  readonly overall: OverallState;
  readonly source: string;
}

/** Sorts the worst source first, and sources in the same state by name. */
export function worstFirst(one: Ranked, other: Ranked): number {
  const rank = (ranks.get(one.overall) ?? 0) - (ranks.get(other.overall) ?? 0);
  if (rank !== 0) return rank;
  return one.source < other.source ? -1 : one.source > other.source ? 1 : 0;
}
