import type { Membership } from '../fleet/membership.js';
import type { Outbox } from '../outbox/ports.js';
import type { PendingErasures } from '../store/erasures.js';
import type { HousekeepingParts } from './housekeeping.js';

/*
 * Work that one member of a fleet does: the leader runs it, and the other members see nothing to do. While the
 * leadership changes, two members may run it. A notice may then be sent twice, under one message id, and the second
 * scrub finds nothing left.
 */

type Maintenance = Pick<
  HousekeepingParts,
  'pending' | 'removeBackups' | 'scrub' | 'words' | 'purge' | 'askPlatform'
>;

const nothingPending: PendingErasures = { receipts: 0, since: null, residue: false, listing: false };

export function maintenanceByLeader(
  { pending, removeBackups, scrub, words, purge, askPlatform }: Maintenance,
  membership: Membership,
): Maintenance {
  return {
    removeBackups,
    scrub,
    words,
    pending: () => (membership.leads ? pending() : nothingPending),
    purge: async (now) => (membership.leads ? await purge(now) : 0),
    askPlatform: async (signal) => {
      if (membership.leads) await askPlatform(signal);
    },
  };
}

export function outboxByLeader(outbox: Outbox, membership: Membership): Outbox {
  return {
    dueFor: (target, now, max) => outbox.dueFor(target, now, max),
    waiting: async () => (membership.leads ? await outbox.waiting() : []),
    about: (notice, since, until) => outbox.about(notice, since, until),
    putOff: (notice, until) => outbox.putOff(notice, until),
    merge: (into, later, body) => outbox.merge(into, later, body),
    drop: (earlier, later) => outbox.drop(earlier, later),
    begin: (notice) => outbox.begin(notice),
    delivered: (notice, at) => outbox.delivered(notice, at),
    retryLater: (notice, nextAt, error) => outbox.retryLater(notice, nextAt, error),
    giveUp: (notice, at, error) => outbox.giveUp(notice, at, error),
  };
}
