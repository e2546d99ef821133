import type { FeedItem } from '../domain/investment.js';
import { storableText } from '../domain/text.js';
import { cutField } from './anomaly-limits.js';

export type RecordItem = Extract<FeedItem, { kind: 'record' }>;
export type Tombstone = Extract<FeedItem, { kind: 'tombstone' }>;
export type Rejected = Extract<FeedItem, { kind: 'rejected' }>;
export type Erases = NonNullable<Rejected['erases']>;

/** What the store needs to know about the entries of a page, from one pass over them. Feed order decides. */
export interface PageFacts {
  readonly items: readonly FeedItem[];
  /** The last entry of each id, in feed order. Rejected entries are left out: the stored version stays. */
  readonly latest: readonly (RecordItem | Tombstone)[];
  /** The last entry that names each id, readable or not. */
  readonly mentions: ReadonlyMap<string, FeedItem>;
  /** Whether any entry is unreadable. */
  readonly hasRejected: boolean;
  /** Whether an entry, readable or not, reports a record or a person as gone. */
  readonly removes: boolean;
  /** Whether an entry, readable or not, reports an investor as deactivated: that concerns every source. */
  readonly deactivates: boolean;
  /**
   * Whether the records include identity; null when no record can show it. A single record without identity makes it
   * false, because under a grant the fields are always present, if only as null. Deactivated investors have no identity
   * under any grant, so they do not count. Tombstones and unreadable records do not count either.
   */
  readonly identityIncluded: boolean | null;
  /**
   * Ids whose identity an unreadable entry erases: it is a tombstone or reports a deactivated investor. A readable entry
   * later on the page cancels it.
   */
  readonly unreadableErasures: ReadonlyMap<string, Erases>;
  /** Entries to quarantine. Of several for one id only the last counts, and none if a readable entry follows it. */
  readonly rejected: readonly Rejected[];
  /** Ids whose last entry is readable. */
  readonly readable: readonly string[];
  /** How often each field occurs that this version does not know. */
  readonly unknownFields: ReadonlyMap<string, number>;
}

export function readPage(items: readonly FeedItem[]): PageFacts {
  const latest = new Map<string, RecordItem | Tombstone>();
  const mentions = new Map<string, FeedItem>();
  const unreadableErasures = new Map<string, Erases>();
  const unknownFields = new Map<string, number>();
  const nameless: Rejected[] = [];
  let hasRejected = false;
  let removes = false;
  let deactivates = false;
  let identityIncluded: boolean | null = null;
  for (const item of items) {
    if (item.kind === 'rejected') {
      hasRejected = true;
      removes ||= item.erases !== undefined;
      deactivates ||= item.erases === 'deactivated';
      if (item.id === null) nameless.push(item);
      else {
        mentions.set(item.id, item);
        if (item.erases !== undefined) unreadableErasures.set(item.id, item.erases);
      }
      continue;
    }
    const id = item.kind === 'record' ? item.investment.id : item.id;
    latest.delete(id);
    latest.set(id, item);
    mentions.set(id, item);
    unreadableErasures.delete(id);
    if (item.kind === 'tombstone') {
      removes = true;
      continue;
    }
    if (item.investment.investor_deactivated) deactivates = true;
    else identityIncluded = item.identity !== null && identityIncluded !== false;
    countUnknownFields(item, unknownFields);
  }
  const rejected = nameless;
  const readable: string[] = [];
  for (const [id, item] of mentions)
    if (item.kind === 'rejected') rejected.push(item);
    else readable.push(id);
  return {
    items,
    latest: [...latest.values()],
    mentions,
    hasRejected,
    removes,
    deactivates,
    identityIncluded,
    unreadableErasures,
    rejected,
    readable,
    unknownFields,
  };
}

function countUnknownFields(item: RecordItem, counts: Map<string, number>): void {
  for (const whole of unknownFieldsOf(item)) {
    const field = storableText(cutField(whole));
    counts.set(field, (counts.get(field) ?? 0) + 1);
  }
}

export function unknownFieldsOf({ investment, identity, unkept = [] }: RecordItem): readonly string[] {
  return [
    ...keysOf(investment.extra),
    ...keysOf(identity?.extra ?? null).map((key) => `investor.${key}`),
    ...unkept,
  ];
}

function keysOf(extra: string | null): readonly string[] {
  if (extra === null) return [];
  const content: unknown = JSON.parse(extra);
  return content === null || typeof content !== 'object' ? [] : Object.keys(content);
}
