import type { FeedItem } from '../domain/investment.js';
import type { Erases, RecordItem } from './page-facts.js';

/** Returns the ids that occur in any text. Matches whole ids only: `inv_1` is not found in `inv_12`. */
export function idsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/\b(?:inv|invt|usr)_[A-Za-z0-9_-]+/g) ?? []);
}

/**
 * Removes the identity of forgotten people from the items of a page, before anything is stored or compared. An
 * unreadable record that mentions a forgotten id stays in quarantine without its body, since the people it names are
 * unknown. `investorOf` returns the investor of a stored record, for items that do not name one.
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

/** Also removes the unknown fields of the record, because they may contain personal data. */
function withoutPerson(item: RecordItem): RecordItem {
  return { ...item, identity: null, investment: { ...item.investment, extra: null } };
}

/** Removes the identity of the ids in `gone` from earlier entries of the page and from quarantined bodies. */
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
