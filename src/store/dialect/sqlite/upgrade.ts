import type { MigrateOptions } from '../../migrate.js';
import { withSqliteFaults } from './faults.js';
import { catchUpIndexes } from './indexes.js';
import { type Migrated, migrateSqlite } from './migrate.js';
import type { SqliteDatabase } from './open.js';

/** Migrates to this version's schema and builds missing indexes, without which queries may need full scans. */
export function upgradeSqlite(database: SqliteDatabase, options: MigrateOptions): Migrated {
  const migrated = migrateSqlite(database, options);
  withSqliteFaults(database.file, () => catchUpIndexes(database.raw));
  return migrated;
}
