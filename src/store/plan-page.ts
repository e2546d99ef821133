import { differenceOf } from '../domain/difference.js';
import type { FeedItem, Identity, Investment } from '../domain/investment.js';

/** What the mirror holds for an id; a dialect adds what it needs to find the row again. */
export interface Held {
  readonly investment: Investment;
  readonly identity: Identity | null;
}

export type RecordItem = Extract<FeedItem, { kind: 'record' }>;
export type Tombstone = Extract<FeedItem, { kind: 'tombstone' }>;

export interface Insert {
  readonly kind: 'insert';
  readonly record: RecordItem;
}

/** The held version goes to history and the new one stands in its place, whole. */
export interface Replace<Row extends Held> {
  readonly kind: 'replace';
  readonly held: Row;
  readonly record: RecordItem;
  /** What differs. Empty when only `observed_at` or `reason` do: then the change feed stays silent. */
  readonly fields: readonly string[];
  readonly identityDiffers: boolean;
}

export interface Remove<Row extends Held> {
  readonly kind: 'remove';
  readonly held: Row;
  readonly reason: string | null;
}

export type Step<Row extends Held> = Insert | Replace<Row> | Remove<Row>;

export interface PagePlan<Row extends Held> {
  readonly steps: readonly Step<Row>[];
  /** Records that equal the held ones, and tombstones of what is not held. */
  readonly unchanged: number;
}

/**
 * Feed order decides, never a clock: of several entries for one id the last one counts, and an entry that
 * was observed earlier than the held one still replaces it.
 */
export function planPage<Row extends Held>(
  items: readonly FeedItem[],
  heldOf: (id: string) => Row | undefined,
): PagePlan<Row> {
  const steps: Step<Row>[] = [];
  let unchanged = 0;
  for (const item of lastOfEach(items)) {
    const step =
      item.kind === 'record' ? planRecord(heldOf(item.investment.id), item) : bury(heldOf(item.id), item);
    if (step === null) unchanged += 1;
    else steps.push(step);
  }
  return { steps, unchanged };
}

/** Null when nothing would be written. */
function planRecord<Row extends Held>(held: Row | undefined, record: RecordItem): Step<Row> | null {
  if (held === undefined) return { kind: 'insert', record };
  const difference = differenceOf(held, record);
  if (difference === null && !republished(held.investment, record.investment)) return null;
  const { fields, identityDiffers } = difference ?? { fields: [], identityDiffers: false };
  return { kind: 'replace', held, record, fields, identityDiffers };
}

/**
 * Whether the platform published the same content once more. A listing gives no reasons, so a delta over the same
 * time, as the sweep behind every listing is, repeats publications that are held already and adds why: that
 * supersedes nothing, and a version of its own would fill history with rows that differ in nothing.
 */
function republished(held: Investment, now: Investment): boolean {
  return held.observed_at !== now.observed_at || (held.reason !== null && held.reason !== now.reason);
}

/** A listing tells what a record is, not how it came to be published: `observed_at` and `reason` alone are no news. */
export function planListed<Row extends Held>(held: Row | undefined, record: RecordItem): Step<Row> | null {
  return held !== undefined && differenceOf(held, record) === null ? null : planRecord(held, record);
}

function bury<Row extends Held>(held: Row | undefined, { reason }: Tombstone): Remove<Row> | null {
  return held === undefined ? null : { kind: 'remove', held, reason };
}

/** In the order of their last entries. Rejected ones are not part of the plan: the held version stays. */
export function lastOfEach(items: readonly FeedItem[]): Iterable<RecordItem | Tombstone> {
  const last = new Map<string, RecordItem | Tombstone>();
  for (const item of items) {
    if (item.kind === 'rejected') continue;
    const id = item.kind === 'record' ? item.investment.id : item.id;
    last.delete(id);
    last.set(id, item);
  }
  return last.values();
}
