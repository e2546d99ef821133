import type { FeedItem } from '../domain/investment.js';

export type Rejected = Extract<FeedItem, { kind: 'rejected' }>;

/** What a page says beside its records: entries we could not read, ids that are readable again, unknown fields. */
export interface PageOddities {
  readonly rejected: readonly Rejected[];
  /** Entries to set aside: of several for one id the last, and none when a readable one came after it. */
  readonly setAside: readonly Rejected[];
  readonly readable: readonly string[];
  readonly unknownFields: ReadonlyMap<string, number>;
}

export function oddities(items: readonly FeedItem[]): PageOddities {
  const rejected: Rejected[] = [];
  const nameless: Rejected[] = [];
  const last = new Map<string, Rejected | null>();
  const unknownFields = new Map<string, number>();
  for (const item of items) {
    if (item.kind === 'rejected') {
      rejected.push(item);
      if (item.id === null) nameless.push(item);
      else last.set(item.id, item);
    } else if (item.kind === 'tombstone') {
      last.set(item.id, null);
    } else {
      const { investment, identity } = item;
      last.set(investment.id, null);
      count(unknownFields, '', investment.extra);
      count(unknownFields, 'investor.', identity?.extra ?? null);
    }
  }
  const setAside = [...nameless, ...[...last.values()].filter((item) => item !== null)];
  const readable = [...last].flatMap(([id, item]) => (item === null ? [id] : []));
  return { rejected, setAside, readable, unknownFields };
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

function count(fields: Map<string, number>, prefix: string, extra: string | null): void {
  if (extra === null) return;
  const content: unknown = JSON.parse(extra);
  if (content === null || typeof content !== 'object') return;
  for (const key of Object.keys(content)) fields.set(prefix + key, (fields.get(prefix + key) ?? 0) + 1);
}
