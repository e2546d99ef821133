import { differenceOf } from '../domain/difference.js';
import type { Identity, Investment } from '../domain/investment.js';
import type { PageFacts, RecordItem, Tombstone } from './page-facts.js';

/** The stored row for an id. A dialect adds what it needs to find the row again. */
export interface StoredVersion {
  readonly investment: Investment;
  readonly identity: Identity | null;
}

export interface Insert {
  readonly kind: 'insert';
  readonly record: RecordItem;
}

/** The stored version moves to history and the new one replaces it completely. */
export interface Replace<Row extends StoredVersion> {
  readonly kind: 'replace';
  readonly stored: Row;
  readonly record: RecordItem;
  /** Names of the fields that differ. Empty when only `observed_at` or `reason` do: then no change is published. */
  readonly fields: readonly string[];
  readonly identityDiffers: boolean;
}

export interface Remove<Row extends StoredVersion> {
  readonly kind: 'remove';
  readonly stored: Row;
  readonly reason: string | null;
}

export type Step<Row extends StoredVersion> = Insert | Replace<Row> | Remove<Row>;

export interface PagePlan<Row extends StoredVersion> {
  readonly steps: readonly Step<Row>[];
  /** Number of records equal to the stored ones, plus tombstones without a stored row. */
  readonly unchanged: number;
}

/**
 * Returns the steps that apply a page. Feed order decides, never a timestamp: of several entries for one id the last
 * one counts, and an entry replaces the stored row even if its `observed_at` is earlier.
 */
export function planPage<Row extends StoredVersion>(
  latest: PageFacts['latest'],
  storedOf: (id: string) => Row | undefined,
): PagePlan<Row> {
  const steps: Step<Row>[] = [];
  let unchanged = 0;
  for (const item of latest) {
    const step =
      item.kind === 'record'
        ? planRecord(storedOf(item.investment.id), item)
        : planRemove(storedOf(item.id), item);
    if (step === null) unchanged += 1;
    else steps.push(step);
  }
  return { steps, unchanged };
}

/** Returns null when nothing would be written. */
function planRecord<Row extends StoredVersion>(
  stored: Row | undefined,
  record: RecordItem,
): Step<Row> | null {
  if (stored === undefined) return { kind: 'insert', record };
  const difference = differenceOf(stored, record);
  if (difference === null && !republished(stored.investment, record.investment)) return null;
  const { fields, identityDiffers } = difference ?? { fields: [], identityDiffers: false };
  return { kind: 'replace', stored, record, fields, identityDiffers };
}

/**
 * Returns whether the platform published the same content again. A listing gives no reasons. A delta over the same
 * period, such as the sweep after every listing, repeats publications that are already stored and adds their reason.
 * That alone is not a new publication: a version for it would fill history with rows that differ in nothing.
 */
function republished(stored: Investment, now: Investment): boolean {
  return stored.observed_at !== now.observed_at || (stored.reason !== null && stored.reason !== now.reason);
}

/** Like `planRecord`, for a record that was listed again: a difference in only `observed_at` and `reason` is none. */
export function planReread<Row extends StoredVersion>(
  stored: Row | undefined,
  record: RecordItem,
): Step<Row> | null {
  return stored !== undefined && differenceOf(stored, record) === null ? null : planRecord(stored, record);
}

function planRemove<Row extends StoredVersion>(
  stored: Row | undefined,
  { reason }: Tombstone,
): Remove<Row> | null {
  return stored === undefined ? null : { kind: 'remove', stored, reason };
}
