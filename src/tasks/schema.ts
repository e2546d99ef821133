import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { packageVersion } from '../runtime/package-version.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { migrateSqlite } from '../store/dialect/sqlite/migrate.js';
import { openSqlite } from '../store/dialect/sqlite/open.js';
import { upgradeSqlite } from '../store/dialect/sqlite/upgrade.js';
import { newestMigration } from '../store/newest-migration.js';

export interface SchemaState {
  readonly file: string;
  /** The schema number of the database, after any migrations run now. */
  readonly schema: number;
  /** The schema number this version of rosterd writes. */
  readonly newest: number;
  /** Pending migrations, such as `0006_unknown_fields`. */
  readonly pending: readonly string[];
  readonly ran: readonly string[];
  /** The backup made before the migrations; null when there were none to run. */
  readonly backup: string | null;
}

/**
 * Returns the schema of a mirror and its pending migrations; with `apply` they are run. Writes nothing otherwise.
 * Throws `database_unusable` for a missing file and for one written by a later version or by an edited migration, and
 * `usage` for a database other than SQLite.
 */
export function schemaOf(location: DatabaseLocation, clock: Clock, apply: boolean): SchemaState {
  const { file } = dialectFor(location);
  if (file === null)
    throw new Fault('usage', 'the dry run is for a mirror in a SQLite file, this one is in PostgreSQL', {
      hint: 'rosterd doctor shows its schema; rosterd run migrates it',
    });
  const stamp = { clock, version: packageVersion() };
  const newest = newestMigration('sqlite');
  const reader = openSqlite(file, { readonly: true });
  const { ran: pending } = closing(reader, () => migrateSqlite(reader, { ...stamp, dryRun: true }));
  if (!apply || pending.length === 0)
    return { file, newest, pending, schema: newest - pending.length, ran: [], backup: null };
  const writer = openSqlite(file);
  const { ran, backup } = closing(writer, () => upgradeSqlite(writer, stamp));
  return { file, newest, ran, backup, schema: newest, pending: [] };
}

function closing<Result>(opened: { close(): void }, work: () => Result): Result {
  try {
    return work();
  } finally {
    opened.close();
  }
}
