import type { FeedItem } from '../domain/investment.js';
import { storableText } from '../domain/text.js';
import { cutField } from './anomaly-limits.js';

export type Rejected = Extract<FeedItem, { kind: 'rejected' }>;

type Record = Extract<FeedItem, { kind: 'record' }>;

/** The anomalies of a page: unreadable entries, ids that are readable again, unknown fields. */
export interface PageOddities {
  /** Entries to quarantine. Of several for one id only the last counts, and none if a readable entry follows it. */
  readonly setAside: readonly Rejected[];
  readonly readable: readonly string[];
  readonly unknownFields: ReadonlyMap<string, number>;
}

export function oddities(items: readonly FeedItem[]): PageOddities {
  const nameless: Rejected[] = [];
  const last = new Map<string, Rejected | null>();
  const unknownFields = new Map<string, number>();
  for (const item of items) {
    if (item.kind === 'rejected') {
      if (item.id === null) nameless.push(item);
      else last.set(item.id, item);
    } else if (item.kind === 'tombstone') {
      last.set(item.id, null);
    } else {
      last.set(item.investment.id, null);
      for (const whole of unknownFieldsOf(item)) {
        const field = storableText(cutField(whole));
        unknownFields.set(field, (unknownFields.get(field) ?? 0) + 1);
      }
    }
  }
  const setAside = [...nameless, ...[...last.values()].filter((item) => item !== null)];
  const readable = [...last].flatMap(([id, item]) => (item === null ? [id] : []));
  return { setAside, readable, unknownFields };
}

/**
 * Returns whether the records of a page include identity; null when no record can show it. A single record without
 * identity makes it false, because under a grant the fields are always present, if only as null. Deactivated investors
 * have no identity under any grant, so they do not count. Tombstones and unreadable records do not count either.
 */
export function identityIncluded(items: readonly FeedItem[]): boolean | null {
  const relevant = items.filter((item) => item.kind === 'record' && !item.investment.investor_deactivated);
  if (relevant.length === 0) return null;
  return relevant.every((item) => item.kind === 'record' && item.identity !== null);
}

export function unknownFieldsOf({ investment, identity, unkept = [] }: Record): readonly string[] {
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
