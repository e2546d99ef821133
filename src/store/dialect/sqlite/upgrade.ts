import type { MigrateOptions } from '../../migrate.js';
import { withSqliteFaults } from './faults.js';
import { catchUpIndexes } from './indexes.js';
import { type Migrated, migrateSqlite } from './migrate.js';
import type { SqliteDatabase } from './open.js';

/** The schema of this version and its indexes: without those an answer may have to look through every row for each. */
export function upgradeSqlite(database: SqliteDatabase, options: MigrateOptions): Migrated {
  const migrated = migrateSqlite(database, options);
  withSqliteFaults(database.file, () => catchUpIndexes(database.raw));
  return migrated;
}
