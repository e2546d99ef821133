import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Lease, SourceIdentity } from '../sync/ports.js';
import type { LeaseRow, SourceRow } from './source-row.js';

export interface LeasePolicy {
  /** How long a lease lasts after its last renewal. */
  readonly leaseMs: number;
  /** Returns true when the holder is known to be dead, so that its lease can be taken over before it expires. */
  readonly isGone?: (holder: string) => boolean;
}

/**
 * Returns the fence token with which `holder` can take the source; it was never issued before. Throws `lease_lost`
 * while another holder's lease is valid and that holder is not known to be dead. An expiry further ahead than any lease
 * can last was written before the clock was set back, and waiting for it could take as long as the clock was wrong. The
 * lease counts as expired. If its holder is alive after all, the fence rejects its writes.
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
      hint: 'Stop the other rosterd, or wait until its lease expires.',
      retryAt: retryAtOf(held, now, leaseMs),
    });
  return (held?.fence ?? 0) + 1;
}

/**
 * Returns when to retry. Holders usually release a lease long before it expires, so the wait is at most a third of it.
 */
function retryAtOf({ expires_at }: LeaseRow, now: number, leaseMs: number): Instant {
  const soon = instantFromMillis(now + leaseMs / 3);
  return expires_at < soon ? (expires_at as Instant) : soon;
}

/** Whether the source was stored under another account, realm or filters than `identity` has. */
export function isOfOther({ fingerprint }: SourceRow, identity: SourceIdentity): boolean {
  const { withoutRealm, withRealm = [] } = identity;
  return ![identity.fingerprint, withoutRealm, ...withRealm].includes(fingerprint);
}

/** Throws `lease_lost` while the source is erased: nothing may be added to what is left of it. */
export function refuseErasing({ name, erasing_since }: SourceRow, now: number): void {
  if (erasing_since === null) return;
  throw new Fault('lease_lost', `source ${name} is being erased`, {
    hint: 'Wait until that is done. If it was interrupted, erase the source again.',
    retryAt: instantFromMillis(now + erasingRetryMillis),
  });
}

/** The error for a source that has no row: it was erased since, or never opened. */
export function notStored(source: string): Fault {
  return new Fault('lease_lost', `source ${source} is not stored: it was erased, or never opened`);
}

const erasingRetryMillis = 10_000;

export function isLeaseRunning({ expires_at }: LeaseRow, now: number, leaseMs: number): boolean {
  return expires_at > instantFromMillis(now) && expires_at <= instantFromMillis(now + 2 * leaseMs);
}

/**
 * Checks a lease that this very write takes. Throws `lease_lost` when, since the source was read, another process took it,
 * renewed its own lease or wrote to it: an expired lease stays valid until it is taken over.
 */
export function checkUntaken(
  held: LeaseRow | undefined,
  lease: Lease,
  asking: { holder: string; now: number; isWritten: boolean },
  policy: LeasePolicy,
): void {
  const fence = nextFence(held, { source: lease.source, ...asking }, policy);
  if (fence === lease.fence && !asking.isWritten) return;
  throw new Fault(
    'lease_lost',
    `source ${lease.source} was written by ${held?.holder ?? 'another process'}`,
    {
      hint: 'Nothing has to be done: another rosterd read the source at the same time.',
    },
  );
}

/**
 * Throws `lease_lost` when the registry says that a followed source is no longer synced. A process that has not noticed yet
 * must not open it again after its erasure.
 */
export function refuseUnfollowed(name: string, state: string | undefined): void {
  if (state !== 'disconnected' && state !== 'erased') return;
  throw new Fault('lease_lost', `source ${name} is no longer synced: it is ${state}`, {
    hint: `rosterd sources show ${name}`,
  });
}

export const followedState = 'SELECT state FROM followed_sources WHERE source = ';

/** Throws `lease_lost` when another holder has taken the source. An expired lease stays valid until then. */
export function checkFence(held: LeaseRow | undefined, lease: Lease): void {
  if (held?.fence === lease.fence) return;
  throw new Fault(
    'lease_lost',
    held === undefined
      ? `no process holds a lease on source ${lease.source}`
      : `source ${lease.source} was taken over by ${held.holder} until ${held.expires_at}`,
    { hint: 'Only one rosterd may write a source. This one stops writing it.' },
  );
}
