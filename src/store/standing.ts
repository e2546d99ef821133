import { Fault } from '../domain/fault.js';
import type { Active, Lease, ListingProgress, Phase, Reached } from '../sync/ports.js';

/** Where a source stands, as text to compare: what the next page has to follow. */
export type Standing = string;

export function standingOf(phase: Phase): Standing {
  const active: Active = phase.kind === 'halted' ? phase.before : phase;
  switch (active.kind) {
    case 'empty':
      return 'empty';
    case 'listing':
      return standingOfListing(active.listing);
    case 'sweeping':
      return `sweeping ${JSON.stringify(active.since)}`;
    case 'following':
      return standingAt({ kind: 'following', cursor: active.cursor });
  }
}

export const standingOfListing = ({ generation, pages }: ListingProgress): Standing =>
  `listing ${generation} ${pages}`;

export const standingAt = (reached: Reached): Standing =>
  reached.kind === 'following'
    ? `following ${reached.cursor}`
    : `sweeping ${JSON.stringify({ kind: 'cursor', cursor: reached.cursor })}`;

/**
 * Throws `lease_lost` when the source no longer stands where this process left it. A crash of the server loses commits
 * that did not wait for the disk, and a promotion those that the replica had not received. The fence may be lost with
 * them, or be as it was; a page written now would leave a gap behind it.
 */
export function checkStanding(lease: Lease, expected: Standing | undefined, found: Standing): void {
  if (expected === undefined || expected === found) return;
  throw new Fault(
    'lease_lost',
    `the database no longer has what was last written to source ${lease.source}`,
    {
      hint: 'Nothing has to be done: the source is read again from the position that is stored.',
    },
  );
}
