import type { FeedItem } from '../domain/investment.js';

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
    if (item.identity === null) return item;
    const { id, investor_id: investor } = item.investment;
    return concerns(id, investor) ? { ...item, identity: null } : item;
  });
}
