import type { StatsRead, StoredTallies, Tally } from './ports.js';
import type { AmountDifference, Drift } from './receipt.js';

const none: Tally = { count: 0, committed_cents: 0, raised_cents: 0 };
const measures = ['count', 'committed_cents', 'raised_cents'] as const;

/** Compares every status that either side has, cent by cent. A status without rows equals an absent one. */
export function compareStats(offering: string, held: StoredTallies, platform: StatsRead): readonly Drift[] {
  const statuses = new Set([...Object.keys(held), ...Object.keys(platform.byStatus)]);
  return [...statuses].sort().flatMap((status): Drift[] => {
    const ours = held[status] ?? none;
    const theirs = platform.byStatus[status] ?? none;
    const amounts = measures.flatMap((column): AmountDifference[] =>
      ours[column] === theirs[column] ? [] : [{ column, held: ours[column], platform: theirs[column] }],
    );
    return amounts.length === 0 ? [] : [{ kind: 'tally', offering, status, amounts }];
  });
}

export function addTally(sum: Tally, { byStatus }: StatsRead): Tally {
  return Object.values(byStatus).reduce(
    (total, one) => ({
      count: total.count + one.count,
      committed_cents: total.committed_cents + one.committed_cents,
      raised_cents: total.raised_cents + one.raised_cents,
    }),
    sum,
  );
}
