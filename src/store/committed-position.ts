import { Fault } from '../domain/fault.js';
import type { Active, Lease, ListingProgress, Phase, Reached } from '../sync/ports.js';
import { sweepPosition } from './phase.js';
import type { SweepRow } from './source-row.js';

/** The committed position of a source as text to compare. The next page has to continue from it. */
export type CommittedPosition = string;

export function positionOf(phase: Phase): CommittedPosition {
  const active: Active = phase.kind === 'halted' ? phase.before : phase;
  switch (active.kind) {
    case 'empty':
      return 'empty';
    case 'listing':
      return positionOfListing(active.listing);
    case 'sweeping':
      return `sweeping ${JSON.stringify(active.since)}`;
    case 'following':
      return positionAt({ kind: 'following', cursor: active.cursor });
  }
}

export const positionOfListing = ({ generation, pages }: ListingProgress): CommittedPosition =>
  `listing ${generation} ${pages}`;

export const positionOfSweep = (sweep: SweepRow): CommittedPosition =>
  `sweeping ${JSON.stringify(sweepPosition(sweep))}`;

export const positionAt = (reached: Reached): CommittedPosition =>
  reached.kind === 'following'
    ? `following ${reached.cursor}`
    : `sweeping ${JSON.stringify({ kind: 'cursor', cursor: reached.cursor })}`;

/**
 * Throws `lease_lost` when the source is no longer at the position that this process wrote last. A crash of the server
 * loses commits that did not wait for the disk, and a promotion those that the replica had not received. The fence may be
 * lost with them, or be as it was; a page written now would leave a gap behind it.
 */
export function checkPosition(
  lease: Lease,
  expected: CommittedPosition | undefined,
  found: CommittedPosition,
): void {
  if (expected === undefined || expected === found) return;
  throw new Fault(
    'lease_lost',
    `the database no longer has what was last written to source ${lease.source}`,
    {
      hint: 'Nothing has to be done: the source is read again from the position that is stored.',
    },
  );
}
