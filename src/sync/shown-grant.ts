import type { FeedItem } from '../domain/investment.js';

/**
 * Whether all records of a listing include identity: then the platform need not be asked what the token may read. Null
 * before a record showed it. A deactivated investor has no identity under any grant.
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
