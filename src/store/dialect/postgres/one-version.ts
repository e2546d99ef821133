import { Fault } from '../../../domain/fault.js';
import { newestMigration } from '../../newest-migration.js';

/*
 * A schema is written by one version of rosterd at a time. A migration is refused while processes of the version before
 * send heartbeats (`older-members.ts`). One that was frozen or cut off meanwhile finds a newer schema when it resumes, and
 * writes nothing.
 */

let known: number | undefined;

/** Returns the number of the newest migration that this process knows. */
export function knownSchema(): number {
  known ??= newestMigration('postgres');
  return known;
}

/** SQL for the number of the newest migration that ran. */
export const presentSchema = '(SELECT max(number) FROM migrations)';

/** Throws `database_unusable` if a later version has migrated the database since this process opened it. */
export function refuseOutdated(present: number): void {
  if (present > knownSchema()) throw outdated(present);
}

export function outdated(present: number): Fault {
  return new Fault(
    'database_unusable',
    `the database was migrated to schema ${present} while this process, which knows up to ${knownSchema()}, was running`,
    { hint: 'Install the version of rosterd that the other hosts run, and start this one again.' },
  );
}
