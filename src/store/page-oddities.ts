import type { FeedItem } from '../domain/investment.js';

export type Rejected = Extract<FeedItem, { kind: 'rejected' }>;

/** What a page says beside its records: entries we could not read, ids that are readable again, unknown fields. */
export interface PageOddities {
  readonly rejected: readonly Rejected[];
  /** Entries to set aside: of several for one id the last, and none when a readable one came after it. */
  readonly setAside: readonly Rejected[];
  readonly readable: readonly string[];
  readonly unknownFields: ReadonlyMap<string, number>;
  /** Whether records of people who can be named came with their identity; null when the page had none. */
  readonly identityIncluded: boolean | null;
}

export function oddities(items: readonly FeedItem[]): PageOddities {
  const rejected: Rejected[] = [];
  const nameless: Rejected[] = [];
  const last = new Map<string, Rejected | null>();
  const unknownFields = new Map<string, number>();
  let identityIncluded: boolean | null = null;
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
      // A deactivated person has no identity under any grant and says nothing about ours.
      if (!investment.investor_deactivated) identityIncluded = identityIncluded === true || identity !== null;
    }
  }
  const setAside = [...nameless, ...[...last.values()].filter((item) => item !== null)];
  const readable = [...last].flatMap(([id, item]) => (item === null ? [id] : []));
  return { rejected, setAside, readable, unknownFields, identityIncluded };
}

function count(fields: Map<string, number>, prefix: string, extra: string | null): void {
  if (extra === null) return;
  const content: unknown = JSON.parse(extra);
  if (content === null || typeof content !== 'object') return;
  for (const key of Object.keys(content)) fields.set(prefix + key, (fields.get(prefix + key) ?? 0) + 1);
}
