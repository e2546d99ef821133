import { Fault } from '../../../domain/fault.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { Lease, Opened, SourceIdentity } from '../../../sync/ports.js';
import {
  checkFence,
  followedState,
  isOfOther,
  type LeasePolicy,
  nextFence,
  refuseErasing,
  refuseUnfollowed,
} from '../../lease-rules.js';
import { phaseOf } from '../../phase.js';
import type { LeaseRow, SourceRow } from '../../source-row.js';
import { isAlive, memberMillis } from './fleet-life.js';
import { lockedSource } from './locked-source.js';
import { knownSchema } from './one-version.js';
import { statement, type Transaction } from './transaction.js';

/**
 * Registers the source if it is new, claims its lease and returns its state. Throws `lease_lost` when another living
 * member of the fleet works the source, or another process holds its lease.
 */
export async function openSource(
  transaction: Transaction,
  identity: SourceIdentity,
  { holder, now }: Asking,
  policy: LeasePolicy,
): Promise<Opened> {
  const { name, fingerprint } = identity;
  // Inserts only a missing row: ON CONFLICT alone would use up a source number on every call.
  transaction.send(addSource, name, fingerprint);
  const { source, listing, sweep } = await lockedSource(transaction, name);
  // A renewal does not lock the source, so the lease row is locked as well.
  const [current, worker] = await Promise.all([
    transaction.row<HeldLease>(lockLease, source.no),
    transaction.row<{ readonly member: string }>(otherWorker, name, holder),
  ]);
  if (worker !== undefined) throw workedElsewhere(name, worker.member, now);
  if (identity.isFollowed === true) {
    const followed = await transaction.row<{ readonly state: string }>(`${followedState}$1`, name);
    refuseUnfollowed(name, followed?.state);
  }
  refuseErasing(source, now);
  const fence = take(transaction, source, current, { holder, now }, policy);
  if (source.fingerprint === identity.withoutRealm) transaction.send(setFingerprint, fingerprint, source.no);
  return {
    lease: { source: name, fence },
    phase: phaseOf(source, { listing, sweep }),
    filtersChanged: isOfOther(source, identity),
    identityIncluded: source.identity_included === null ? null : source.identity_included === 1,
    cursorSavedAt: source.cursor_saved_at as Instant | null,
  };
}

/**
 * Takes the lease of a source whose row is locked, and returns its fence token. Throws `lease_lost` when another process
 * holds it.
 */
export async function claimLease(
  transaction: Transaction,
  source: SourceRow,
  asking: Asking,
  policy: LeasePolicy,
): Promise<number> {
  const current = await transaction.row<HeldLease>(lockLease, source.no);
  return take(transaction, source, current, asking, policy);
}

interface Asking {
  readonly holder: string;
  readonly now: number;
}

type HeldLease = LeaseRow & { readonly silent: 0 | 1 };

function take(
  transaction: Transaction,
  source: SourceRow,
  current: HeldLease | undefined,
  { holder, now }: Asking,
  policy: LeasePolicy,
): number {
  const isGone = (other: string) => current?.silent === 1 || policy.isGone?.(other) === true;
  const fence = nextFence(current, { source: source.name, holder, now }, { ...policy, isGone });
  const expires = instantFromMillis(now + policy.leaseMs);
  transaction.send(takeLease, source.no, holder, fence, expires, knownSchema());
  return fence;
}

/** For a member that was frozen while its source was assigned elsewhere; its next heartbeat reports the change. */
function workedElsewhere(source: string, member: string, now: number): Fault {
  return new Fault('lease_lost', `source ${source} is worked by ${member}, another member of the fleet`, {
    hint: 'Nothing has to be done: members share their sources out among themselves.',
    retryAt: instantFromMillis(now + memberMillis),
  });
}

/**
 * Extends the lease. Throws `lease_lost` if it was taken over. Does not lock the source: a commit that takes longer than
 * the lease lasts must not block the renewal of its own lease.
 */
export async function renewLease(transaction: Transaction, lease: Lease, expires: Instant): Promise<void> {
  if ((await transaction.run(moveLease, expires, lease.source, lease.fence)) === 1) return;
  checkFence(await transaction.row<LeaseRow>(readLease, lease.source), lease);
}

export function releaseLease(transaction: Transaction, { source, fence }: Lease, now: Instant): void {
  transaction.send(moveLease, now, source, fence);
}

const setFingerprint = statement('set_fingerprint', 'UPDATE sources SET fingerprint = $1 WHERE no = $2');

const addSource = statement(
  'add_source',
  `INSERT INTO sources (name, fingerprint) SELECT $1, $2
   WHERE NOT EXISTS (SELECT 1 FROM sources WHERE name = $1) ON CONFLICT (name) DO NOTHING`,
);

/** A lease whose holder is a dead member of the fleet is free, even if it has not expired. */
const lockLease = statement(
  'lock_lease',
  `SELECT l.holder, l.fence, l.expires_at,
          EXISTS (SELECT 1 FROM fleet_members m WHERE m.member = l.holder AND NOT (${isAlive('m')})) AS silent
   FROM leases l WHERE source_no = $1 FOR UPDATE OF l`,
);

/** Finds a row only for members: another process, such as `rosterd sync`, may run between two ticks of the worker. */
const otherWorker = statement(
  'other_worker',
  `SELECT s.member FROM fleet_sources s JOIN fleet_members m USING (member)
   WHERE s.source = $1 AND s.member <> $2 AND ${isAlive('m')}
     AND EXISTS (SELECT 1 FROM fleet_members o WHERE o.member = $2)`,
);

const takeLease = statement(
  'take_lease',
  `INSERT INTO leases (source_no, holder, fence, expires_at, schema) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (source_no) DO UPDATE
   SET holder = excluded.holder, fence = excluded.fence, expires_at = excluded.expires_at, schema = excluded.schema`,
);

const readLease = statement(
  'read_lease',
  `SELECT l.holder, l.fence, l.expires_at FROM leases l JOIN sources s ON s.no = l.source_no WHERE s.name = $1`,
);

const moveLease = statement(
  'move_lease',
  `UPDATE leases l SET expires_at = $1 FROM sources s WHERE s.no = l.source_no AND s.name = $2 AND l.fence = $3`,
);
