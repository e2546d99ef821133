import type { FeedItem } from '../domain/investment.js';
import type { RecordItem } from './plan-page.js';

/** Ids as they stand in a text of any kind. Whole ids only: `inv_1` is not found in `inv_12`. */
export function idsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/\b(?:inv|invt|usr)_[A-Za-z0-9_-]+/g) ?? []);
}

/**
 * Takes the identity of people who are to stay forgotten off what a page brought, before anything of it is
 * stored or compared. A record nobody could read is kept as a case, without its body: whom it names is unknown.
 * `investorOf` tells who is known to stand behind an id, for entries that do not say it themselves.
 */
export function withoutForgotten(
  items: readonly FeedItem[],
  forgotten: ReadonlySet<string>,
  investorOf: (id: string) => string | null,
): readonly FeedItem[] {
  if (forgotten.size === 0) return items;
  const concerns = (id: string, investor: string | null) => {
    const person = investor ?? investorOf(id);
    return forgotten.has(id) || (person !== null && forgotten.has(person));
  };
  return items.map((item) => {
    if (item.kind === 'tombstone') return item;
    if (item.kind === 'rejected') {
      const named =
        (item.id !== null && concerns(item.id, null)) ||
        [...idsIn(item.body)].some((id) => forgotten.has(id));
      return named ? { ...item, body: '' } : item;
    }
    const { id, investor_id: investor } = item.investment;
    return concerns(id, investor) ? withoutPerson(item) : item;
  });
}

/** Unknown fields of the record go as well: nobody here can tell that they do not speak of the person. */
function withoutPerson(item: RecordItem): RecordItem {
  if (item.identity === null && item.investment.extra === null) return item;
  return { ...item, identity: null, investment: { ...item.investment, extra: null } };
}

/**
 * Entries nobody could read that say of a record we may hold that its person is gone, unless a readable entry
 * comes after them: feed order decides.
 */
export function unreadableErasures(items: readonly FeedItem[]): ReadonlyMap<string, Erases> {
  const gone = new Map<string, Erases>();
  for (const item of items) {
    if (item.kind === 'record') gone.delete(item.investment.id);
    else if (item.kind === 'tombstone') gone.delete(item.id);
    else if (item.id !== null && item.erases !== undefined) gone.set(item.id, item.erases);
  }
  return gone;
}

type Erases = 'tombstone' | 'deactivated';

/** Neither an earlier entry of the page nor the body set aside may bring back whom a later entry erases. */
export function withoutErased(
  items: readonly FeedItem[],
  gone: ReadonlyMap<string, Erases>,
): readonly FeedItem[] {
  if (gone.size === 0) return items;
  return items.map((item) => {
    if (item.kind === 'record') return gone.has(item.investment.id) ? withoutPerson(item) : item;
    return item.kind === 'rejected' && gone.has(item.id ?? '') ? { ...item, body: '' } : item;
  });
}
