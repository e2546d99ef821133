import { Fault } from '../../../domain/fault.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { Lease } from '../../../sync/ports.js';
import type { LeaseRow, SourceRow, Statements } from './statements.js';

/**
 * Takes the lease if it is free, expired or the holder's own already, with a fence no one had before. A lease that
 * ends later than any could was written before the clock was set back, by whoever died since: waiting for its end
 * could take as long as the clock was wrong. Should its holder live after all, the fence tells it.
 */
export function takeLease(
  statements: Statements,
  source: SourceRow,
  holder: string,
  now: number,
  leaseMs: number,
): number {
  const held = statements.lease.get(source.no);
  if (held !== undefined && held.holder !== holder && isRunning(held, now, leaseMs))
    throw new Fault(
      'lease_lost',
      `source ${source.name} is held by ${held.holder} until ${held.expires_at}`,
      {
        hint: 'Stop the other rosterd, or wait until its lease has run out.',
        retryAt: held.expires_at as Instant,
      },
    );
  const fence = (held?.fence ?? 0) + 1;
  statements.takeLease.run(source.no, holder, fence, instantFromMillis(now + leaseMs));
  return fence;
}

function isRunning({ expires_at }: LeaseRow, now: number, leaseMs: number): boolean {
  return expires_at > instantFromMillis(now) && expires_at <= instantFromMillis(now + 2 * leaseMs);
}

/** A lease that ran out is still good while nobody else has taken the source. */
export function checkFence(statements: Statements, source: SourceRow, lease: Lease): void {
  const held = statements.lease.get(source.no);
  if (held?.fence === lease.fence) return;
  throw new Fault(
    'lease_lost',
    held === undefined
      ? `source ${source.name} is not held by anybody`
      : `source ${source.name} was taken over by ${held.holder} until ${held.expires_at}`,
    { hint: 'Only one rosterd may write a source. This one stops writing it.' },
  );
}
