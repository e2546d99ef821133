import { Fault } from '../../../domain/fault.js';
import { isProcessThere, processName } from '../../../runtime/process-identity.js';
import type { SqliteDatabase } from './open.js';

/**
 * Throws `database_unusable` while another process of this machine works on the file, which has to be migrated: it is of an
 * earlier version, and would go on writing without what the new schema needs. A process keeps its row in `leases` between
 * two ticks, so that one is found as long as it runs. A process that this one cannot look for, in another container for
 * example, is not found.
 */
export function refuseOlderProcess({ raw, file }: SqliteDatabase): void {
  const present = raw.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'leases'").get();
  if (present === undefined) return;
  const holders = raw.prepare<[], string>('SELECT DISTINCT holder FROM leases ORDER BY holder').pluck().all();
  const other = holders.find((holder) => isProcessThere(holder) && !holder.startsWith(`${processName()}:`));
  if (other === undefined) return;
  throw new Fault(
    'database_unusable',
    `${file} has to be migrated, and an earlier version of rosterd (process ${other.split(':')[1]}) still uses it`,
    { hint: 'Stop it first (systemctl stop rosterd), then run this again.' },
  );
}
