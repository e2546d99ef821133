import Sqlite from 'better-sqlite3';
import { Fault } from '../../../domain/fault.js';
import { newestMigration } from '../../newest-migration.js';

/** Returns the fault for a file that an earlier version wrote and this one has not migrated yet, or null. */
export function olderSchemaFault(file: string, cause: unknown): Fault | null {
  const newest = newestMigration('sqlite');
  const applied = appliedMigrations(file);
  if (applied === null || applied >= newest) return null;
  return new Fault(
    'database_unusable',
    `${file} has schema ${applied} of ${newest}: an earlier version of rosterd wrote it`,
    {
      hint: 'Run `rosterd schema --apply` (it keeps a backup), or start `rosterd run`, which does the same.',
      cause,
    },
  );
}

function appliedMigrations(file: string): number | null {
  try {
    const db = new Sqlite(file, { readonly: true, fileMustExist: true });
    try {
      return db.prepare<[], number>('SELECT max(number) FROM migrations').pluck().get() ?? null;
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}
