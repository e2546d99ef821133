import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Lease } from '../sync/ports.js';
import type { LeaseRow } from './source-row.js';

export interface LeasePolicy {
  /** How long a holder that stopped renewing keeps others out. */
  readonly leaseMs: number;
  /** Whether a holder is known to have died, so that nobody need wait for its lease to run out. */
  readonly isGone?: (holder: string) => boolean;
}

/**
 * The fence with which `holder` may take the source: one that no one had before. `lease_lost` while the lease of
 * somebody else runs who is not known to be gone. A lease that ends later than any could was written before the
 * clock was set back, by whoever died since: waiting for its end could take as long as the clock was wrong. Should
 * its holder live after all, the fence tells it.
 */
export function nextFence(
  held: LeaseRow | undefined,
  { source, holder, now }: { source: string; holder: string; now: number },
  { leaseMs, isGone = () => false }: LeasePolicy,
): number {
  if (
    held !== undefined &&
    held.holder !== holder &&
    isLeaseRunning(held, now, leaseMs) &&
    !isGone(held.holder)
  )
    throw new Fault('lease_lost', `source ${source} is held by ${held.holder} until ${held.expires_at}`, {
      hint: 'Stop the other rosterd, or wait until its lease has run out.',
      retryAt: lookAgainAt(held, now, leaseMs),
    });
  return (held?.fence ?? 0) + 1;
}

/** A holder that is done gives its lease back, mostly long before its end: that of a `sync` lasts for a second. */
function lookAgainAt({ expires_at }: LeaseRow, now: number, leaseMs: number): Instant {
  const soon = instantFromMillis(now + leaseMs / 3);
  return expires_at < soon ? (expires_at as Instant) : soon;
}

export function isLeaseRunning({ expires_at }: LeaseRow, now: number, leaseMs: number): boolean {
  return expires_at > instantFromMillis(now) && expires_at <= instantFromMillis(now + 2 * leaseMs);
}

/** A lease that ran out is still good while nobody else has taken the source. */
export function checkFence(held: LeaseRow | undefined, lease: Lease): void {
  if (held?.fence === lease.fence) return;
  throw new Fault(
    'lease_lost',
    held === undefined
      ? `source ${lease.source} is not held by anybody`
      : `source ${lease.source} was taken over by ${held.holder} until ${held.expires_at}`,
    { hint: 'Only one rosterd may write a source. This one stops writing it.' },
  );
}
