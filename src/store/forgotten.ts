import type { FeedItem } from '../domain/investment.js';

/**
 * Takes the identity of people who are to stay forgotten off what a page brought, before anything of it is
 * stored or compared. A record nobody could read is kept as a case, without its body: whom it names is unknown.
 */
export function withoutForgotten(
  items: readonly FeedItem[],
  forgotten: ReadonlySet<string>,
): readonly FeedItem[] {
  if (forgotten.size === 0) return items;
  return items.map((item) => {
    if (item.kind === 'tombstone') return item;
    if (item.kind === 'rejected') {
      const named = [...forgotten].some((id) => item.id === id || item.body.includes(id));
      return named ? { ...item, body: '' } : item;
    }
    const { id, investor_id: investor } = item.investment;
    const matches = forgotten.has(id) || (investor !== null && forgotten.has(investor));
    return matches && item.identity !== null ? { ...item, identity: null } : item;
  });
}
