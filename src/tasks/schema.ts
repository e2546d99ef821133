import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { packageVersion } from '../runtime/package-version.js';
import type { MirrorPlace } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { migrateSqlite } from '../store/dialect/sqlite/migrate.js';
import { openSqlite } from '../store/dialect/sqlite/open.js';
import { upgradeSqlite } from '../store/dialect/sqlite/upgrade.js';
import { newestMigration } from '../store/migrate.js';

export interface SchemaState {
  readonly file: string;
  /** Number of the schema the database has, after what was run just now. */
  readonly schema: number;
  /** Number of the schema this version of rosterd writes. */
  readonly newest: number;
  /** Migrations that are still to run, such as `0006_unknown_fields`. */
  readonly pending: readonly string[];
  readonly ran: readonly string[];
  /** The copy made before; null when there was nothing to run. */
  readonly backup: string | null;
}

/**
 * Which schema a mirror has, and what a newer rosterd would do to it; with `apply` it is done. Looking writes nothing.
 * Throws `database_unusable` for a file that is not there, that a later version wrote or that an edited migration
 * shaped, and `usage` for another database than SQLite.
 */
export function schemaOf(place: MirrorPlace, clock: Clock, apply: boolean): SchemaState {
  const { file } = dialectFor(place);
  if (file === null)
    throw new Fault('usage', 'the dry run is for a mirror in a SQLite file, this one is in PostgreSQL', {
      hint: 'rosterd doctor tells its schema; rosterd run brings it up to date',
    });
  const told = { clock, version: packageVersion() };
  const newest = newestMigration('sqlite');
  const reader = openSqlite(file, { readonly: true });
  const { ran: pending } = closing(reader, () => migrateSqlite(reader, { ...told, dryRun: true }));
  if (!apply || pending.length === 0)
    return { ...{ file, newest, pending }, schema: newest - pending.length, ran: [], backup: null };
  const writer = openSqlite(file);
  const { ran, backup } = closing(writer, () => upgradeSqlite(writer, told));
  return { ...{ file, newest, ran, backup }, schema: newest, pending: [] };
}

function closing<Result>(opened: { close(): void }, work: () => Result): Result {
  try {
    return work();
  } finally {
    opened.close();
  }
}
