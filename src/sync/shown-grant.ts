import type { FeedItem } from '../domain/investment.js';

/**
 * Whether every record of this listing so far included identity. If true, the separate grant check is unnecessary. Null
 * until a record can show it: a deactivated investor has no identity under any grant.
 */
export type ShownGrant = boolean | null;

/** Returns what is shown after a further page of the listing. */
export function shownBy(before: ShownGrant, items: readonly FeedItem[]): ShownGrant {
  let shown = before;
  for (const item of items)
    if (item.kind === 'record' && !item.investment.investor_deactivated)
      shown = item.identity !== null && shown !== false;
  return shown;
}
