import type { FeedItem } from '../domain/investment.js';
import { identityIncluded } from './page-anomalies.js';
import type { SourceRow } from './source-row.js';

/*
 * Whether the token may read identity, and whether every name that it may read is here.
 *
 * `names_from_generation` is the first listing that can make names complete. It moves behind the listing under way with
 * every page that comes without identity, so that a listing which read one such page does not count, and is taken away
 * by the commit of a listing that does. While the grant is there and it is not null, names are incomplete.
 */

type Grant = Pick<SourceRow, 'identity_included' | 'names_from_generation' | 'generation'>;

/**
 * Writes down what a page tells about the grant. True when it is gone: identity is missing where it used to
 * stand, and with the grant goes what it gave.
 */
export function judgeGrant(source: Grant, items: readonly FeedItem[], identity: 'keep' | 'drop'): boolean {
  const included = identityIncluded(items);
  if (identity === 'drop') {
    // What never gets here says nothing about the grant; names of these records are missing all the same.
    source.identity_included = null;
    if (included !== null) leaveNamesOut(source);
    return false;
  }
  if (included === null) return false;
  const lost = !included && source.identity_included === 1;
  source.identity_included = included ? 1 : 0;
  if (!included) leaveNamesOut(source);
  return lost;
}

/** The platform was asked, and this token may read no identity. False when that was known. */
export function grantIsGone(source: Grant): boolean {
  const lost = source.identity_included === 1;
  source.identity_included = 0;
  leaveNamesOut(source);
  return lost;
}

/** The platform was asked, and this token may read identity. Returns whether names are incomplete. */
export function grantIsThere(source: Grant): boolean {
  source.identity_included = 1;
  return namesIncomplete(source);
}

/** A complete listing of this generation becomes visible. */
export function namesListed(source: Grant, generation: number): void {
  const { names_from_generation } = source;
  if (names_from_generation !== null && generation >= names_from_generation)
    source.names_from_generation = null;
}

export function namesIncomplete(source: Grant): boolean {
  return source.identity_included === 1 && source.names_from_generation !== null;
}

function leaveNamesOut(source: Grant): void {
  source.names_from_generation = source.generation + 1;
}
