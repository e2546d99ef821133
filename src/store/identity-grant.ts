import type { FeedItem } from '../domain/investment.js';
import { identityIncluded } from './page-oddities.js';
import type { SourceRow } from './source-row.js';

/**
 * Writes down what a page tells about the grant. True when it is gone: identity is missing where it used to
 * stand, and with the grant goes what it gave.
 */
export function judgeGrant(
  source: SourceRow,
  items: readonly FeedItem[],
  identity: 'keep' | 'drop',
): boolean {
  if (identity === 'drop') {
    // What never gets here says nothing about the grant.
    source.identity_included = null;
    return false;
  }
  const included = identityIncluded(items);
  if (included === null) return false;
  const lost = !included && source.identity_included === 1;
  source.identity_included = included ? 1 : 0;
  return lost;
}
