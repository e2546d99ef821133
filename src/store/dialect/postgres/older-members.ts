import { Fault } from '../../../domain/fault.js';
import { isAlive } from './fleet-life.js';
import { lockAllSources } from './locked-source.js';
import type { Transaction } from './transaction.js';

/**
 * Makes sure that no process of the version before writes during or after the migration: throws `database_unusable` while
 * a member sends heartbeats, removes the registrations of dead members and voids all leases. Heartbeats wait until the
 * transaction ends.
 */
export async function endOlderMembers(
  transaction: Transaction,
  isGone: (member: string) => boolean,
): Promise<void> {
  const [found] = await transaction.rows<{ fleet: 0 | 1 }>(
    "SELECT (to_regclass('fleet_members') IS NOT NULL)::int AS fleet",
  );
  if (found?.fleet !== 1) return;
  // Waits for commits under way. Later ones wait for this transaction, and then find another fence.
  await lockAllSources(transaction);
  await transaction.run('LOCK TABLE fleet_members IN EXCLUSIVE MODE');
  const members = await transaction.rows<{ member: string; version: string }>(
    `SELECT member, version FROM fleet_members m WHERE ${isAlive('m')} ORDER BY member`,
  );
  const living = members.filter(({ member }) => !isGone(member));
  if (living.length > 0)
    throw new Fault(
      'database_unusable',
      `the schema has to be migrated, and ${living.map(inWords).join(', ')} still ${living.length === 1 ? 'uses' : 'use'} it`,
      {
        hint: 'Stop rosterd on every host and start this version again. A killed daemon counts as running for 8 seconds.',
      },
    );
  await transaction.run('DELETE FROM fleet_members');
  // Expired, too: the lease of a process that froze during a tick would delay its source by up to half a minute.
  await transaction.run('UPDATE leases SET fence = fence + 1, expires_at = fleet_clock(86400000)');
}

const inWords = ({ member, version }: { readonly member: string; readonly version: string }) =>
  `rosterd ${version} on ${member.split(':').slice(0, 2).join(':')}`;
