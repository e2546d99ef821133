import type {
  Collection,
  CollectionName,
  Differences,
  DimensionState,
  Known,
  Listing,
  RoundLabels,
  Row,
} from '../dimensions/ports.js';
import { Fault } from '../domain/fault.js';
import type { Instant } from '../domain/instant.js';
import type { CollectionPlan } from './plan-collection.js';

/** What both databases do alike with rows they have read. */

export function dimensionStateOf(listed: readonly Row[], named: readonly Row[]): DimensionState {
  const of = (about: string) =>
    new Map(
      named
        .filter((row) => row.about === about)
        .map(({ id, name }) => [String(id), textOrNull(name)] as const),
    );
  return {
    listedAt: new Map(
      listed.map((row) => [String(row.collection) as CollectionName, String(row.listed_at) as Instant]),
    ),
    names: { companies: of('company'), rounds: of('round') },
  };
}

export function knownOf(
  attempt: number,
  invested: readonly Row[],
  stored: readonly (readonly [Collection, readonly Row[]])[],
): Known {
  return {
    attempt,
    investedRounds: invested.map(({ id, company_id, currency }) => ({
      id: String(id),
      companyId: textOrNull(company_id),
      currency: textOrNull(currency),
    })),
    stored: new Map(stored.map(([{ name }, rows]) => [name, rows])),
  };
}

export function touchedFrom([row]: readonly Row[]): Instant | null {
  return textOrNull(row?.at) as Instant | null;
}

export function labelsFrom([row]: readonly Row[]): RoundLabels {
  return {
    investmentType: textOrNull(row?.investment_type),
    offeringType: textOrNull(row?.offering_type),
    firstAppliedAt: textOrNull(row?.first_applied_at),
  };
}

/** Throws `lease_lost` unless `attempt` is the newest one for every collection of the listings. */
export function checkAttempt(
  source: string,
  attempts: readonly Row[],
  attempt: number,
  listings: readonly Listing[],
): void {
  const newest = new Map(attempts.map((row) => [row.collection, row.attempt]));
  if (listings.every(({ collection }) => newest.get(collection.name) === attempt)) return;
  throw new Fault('lease_lost', `another listing of the companies and rounds of ${source} has begun`, {
    hint: 'Its result is used instead.',
  });
}

export function sumOf(plans: readonly CollectionPlan[]): Differences {
  const sum = { added: 0, changed: 0, removed: 0 };
  for (const { collection, differences } of plans) {
    // Rows without versions are replaced each time: that is no news.
    if (collection.versions === null) continue;
    sum.added += differences.added;
    sum.changed += differences.changed;
    sum.removed += differences.removed;
  }
  return sum;
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
