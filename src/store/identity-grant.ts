import type { PageFacts } from './page-facts.js';
import type { SourceRow } from './source-row.js';

/*
 * Tracks whether the token may read identity, and whether every name it may read is stored.
 *
 * `names_from_generation` is the first listing that can make the names complete. Every page without identity moves it
 * past the listing in progress, so a listing that read such a page does not count. The commit of a listing that does
 * count sets it to null. Names are incomplete while the grant exists and the column is not null.
 */

type Grant = Pick<SourceRow, 'identity_included' | 'names_from_generation' | 'generation'>;

/**
 * Records what a page shows about the grant. Returns true when the grant was lost: earlier pages had identity and this
 * one has none. The caller then erases the stored identities.
 */
export function judgeGrant(
  source: Grant,
  { identityIncluded: included }: PageFacts,
  identity: 'keep' | 'drop',
): boolean {
  if (identity === 'drop') {
    // Identity is dropped before it arrives, so the page proves nothing about the grant; its names are still missing.
    source.identity_included = null;
    if (included !== null) markNamesMissing(source);
    return false;
  }
  if (included === null) return false;
  const lost = !included && source.identity_included === 1;
  source.identity_included = included ? 1 : 0;
  if (!included) markNamesMissing(source);
  return lost;
}

/** Records the platform's answer that this token may not read identity. Returns false when that was already known. */
export function grantIsGone(source: Grant): boolean {
  const lost = source.identity_included === 1;
  source.identity_included = 0;
  markNamesMissing(source);
  return lost;
}

/** Records the platform's answer that this token may read identity. Returns whether names are incomplete. */
export function grantIsThere(source: Grant): boolean {
  source.identity_included = 1;
  return namesIncomplete(source);
}

/** Called when the complete listing of this generation is published. */
export function namesListed(source: Grant, generation: number): void {
  const { names_from_generation } = source;
  if (names_from_generation !== null && generation >= names_from_generation)
    source.names_from_generation = null;
}

export function namesIncomplete(source: Grant): boolean {
  return source.identity_included === 1 && source.names_from_generation !== null;
}

function markNamesMissing(source: Grant): void {
  source.names_from_generation = source.generation + 1;
}
