import type { FeedItem } from '../domain/investment.js';
import { storableText } from '../domain/text.js';
import { cutField } from './anomaly-limits.js';

export type Rejected = Extract<FeedItem, { kind: 'rejected' }>;

type Record = Extract<FeedItem, { kind: 'record' }>;

/** What a page says beside its records: entries we could not read, ids that are readable again, unknown fields. */
export interface PageOddities {
  /** Entries to set aside: of several for one id the last, and none when a readable one came after it. */
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
 * Whether the records of a page came with their identity; null when none of them can say. One that lacks it is
 * enough for a no: under a grant the fields are there, if only as null. A deactivated person has no identity under
 * any grant and says nothing about ours, and neither does a tombstone or a record nobody could read.
 */
export function identityIncluded(items: readonly FeedItem[]): boolean | null {
  const telling = items.filter((item) => item.kind === 'record' && !item.investment.investor_deactivated);
  if (telling.length === 0) return null;
  return telling.every((item) => item.kind === 'record' && item.identity !== null);
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
