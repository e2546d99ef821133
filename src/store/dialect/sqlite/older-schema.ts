import Sqlite from 'better-sqlite3';
import { Fault } from '../../../domain/fault.js';
import { newestMigration } from '../../newest-migration.js';
import { inspectFile } from './file.js';

/** Returns the fault for a file that an earlier version wrote and this one has not migrated yet, or null. */
export function olderSchemaFault(file: string, cause: unknown): Fault | null {
  const newest = newestMigration('sqlite');
  const applied = appliedMigrations(file);
  if (applied === null || applied === 0 || applied >= newest) return null;
  return new Fault(
    'database_unusable',
    `${file} has schema ${applied} of ${newest}: an earlier version of rosterd wrote it`,
    {
      hint: 'Run `rosterd schema --apply` (it keeps a backup), or start `rosterd run`, which does the same.',
      cause,
    },
  );
}

/** Returns whether the file is missing, empty or of an earlier version. Throws for one that is not rosterd's. */
export function awaitsMigration(file: string): boolean {
  if (inspectFile(file) !== 'ours') return true;
  const applied = appliedMigrations(file);
  return applied !== null && applied < newestMigration('sqlite');
}

/** Zero before the first one is committed. Null for a file that cannot be read. */
function appliedMigrations(file: string): number | null {
  try {
    const db = new Sqlite(file, { readonly: true, fileMustExist: true });
    try {
      return db.prepare<[], number | null>('SELECT max(number) FROM migrations').pluck().get() ?? 0;
    } catch (error) {
      if (error instanceof Error && error.message === 'no such table: migrations') return 0;
      throw error;
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}
