import { isFault } from '../domain/fault.js';
import { centsSum } from '../domain/money.js';
import type { Platform, StatsRead, StoredRows, StoredTallies, Tally } from './ports.js';
import type { AmountDifference, Drift, StatsReceipt } from './receipt.js';
import { type SettleParts, settle } from './settle.js';

export interface StatsScope {
  /** Compares only this offering; the mirror has no other. */
  readonly offering: string | null;
  /** The mirror has only one investor's share of each round, which no count of the platform matches. */
  readonly partial: boolean;
}

export interface StatsParts extends SettleParts {
  readonly stored: StoredRows;
  readonly platform: Platform;
}

const none: Tally = { count: 0, committed_cents: 0, raised_cents: 0 };

/**
 * Compares counts and sums of every offering in the mirror, by status. One request per offering when nothing differs.
 */
export async function verifyStats(parts: StatsParts, scope: StatsScope): Promise<StatsReceipt> {
  const offerings = scope.offering === null ? await parts.stored.offerings() : [scope.offering];
  const skipped: { offering: string; why: string }[] = [];
  let total = none;
  for (const offering of offerings) {
    if (scope.partial) {
      skipped.push({ offering, why: 'the source is filtered to one investor' });
      continue;
    }
    let counted: Tally | null = null;
    await settle(parts, async () => {
      counted = null;
      const stats = await statsOrNull(parts.platform, offering);
      if (stats === null) return [];
      counted = Object.values(stats.byStatus).reduce(sum, none);
      return compareStats(offering, await parts.stored.tallies(offering), stats);
    });
    if (counted === null) {
      skipped.push({ offering, why: 'the token may not see its counts' });
      continue;
    }
    total = sum(total, counted);
  }
  return { offerings: offerings.length - skipped.length, total, skipped };
}

async function statsOrNull(platform: Platform, offering: string) {
  try {
    return await platform.stats(offering);
  } catch (error) {
    if (isFault(error, 'forbidden')) return null;
    throw error;
  }
}

function sum(one: Tally, other: Tally): Tally {
  return {
    count: one.count + other.count,
    committed_cents: centsSum(one.committed_cents, other.committed_cents),
    raised_cents: centsSum(one.raised_cents, other.raised_cents),
  };
}

const measures = ['count', 'committed_cents', 'raised_cents'] as const;

/** Compares every status that either side has, cent by cent. A status without rows equals an absent one. */
function compareStats(offering: string, held: StoredTallies, platform: StatsRead): readonly Drift[] {
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
