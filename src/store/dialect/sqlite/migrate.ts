import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { instantFromMillis } from '../../../domain/instant.js';
import { isRunning } from '../../../runtime/process-identity.js';
import {
  type AppliedMigration,
  fourDigits,
  labelOf,
  type MigrateOptions,
  type Migration,
  pendingMigrations,
  shippedMigrations,
} from '../../migrate.js';
import { describeSqlite } from './described-schema.js';
import { withSqliteFaults } from './faults.js';
import { refuseOlderProcess } from './older-process.js';
import type { SqliteDatabase } from './open.js';
import { inTransaction } from './transaction.js';

export interface Migrated {
  /** Names such as `0001_mirror`, in order. */
  readonly ran: readonly string[];
  /** The backup made before an existing database was migrated; null if there was none to make. */
  readonly backup: string | null;
}

const ledger = `CREATE TABLE IF NOT EXISTS migrations (
  number     INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  checksum   TEXT NOT NULL,
  applied_at TEXT NOT NULL,
  version    TEXT NOT NULL
) STRICT`;

/**
 * Runs the pending migrations, each in one transaction with its row in `migrations`. Throws `database_unusable` while
 * another process of this machine uses the file.
 */
export function migrateSqlite(database: SqliteDatabase, options: MigrateOptions): Migrated {
  return withSqliteFaults(database.file, () => {
    const known = options.migrations ?? shippedMigrations('sqlite');
    const applied = appliedMigrations(database);
    const pending = pendingMigrations(known, applied);
    const names = pending.map(labelOf);
    const describe = () => {
      if (options.migrations === undefined) describeSqlite(database.raw);
    };
    if (options.dryRun === true) return { ran: names, backup: null };
    if (pending.length === 0) {
      describe();
      return { ran: [], backup: null };
    }
    refuseOlderProcess(database);
    const backup = applied.length === 0 ? null : backUp(database, applied.length);
    const ran = pending.filter((migration) => runOne(database, migration, known, options));
    describe();
    return { ran: ran.map(labelOf), backup };
  });
}

export function appliedMigrations({ file, raw }: SqliteDatabase): readonly AppliedMigration[] {
  return withSqliteFaults(file, () => {
    const present = raw
      .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'")
      .get();
    if (present === undefined) return [];
    return raw
      .prepare<[], AppliedMigration>('SELECT number, name, checksum, version FROM migrations ORDER BY number')
      .all();
  });
}

/** Runs one migration. Returns false if another process ran it before this one had the lock. */
function runOne(
  database: SqliteDatabase,
  migration: Migration,
  known: readonly Migration[],
  options: MigrateOptions,
): boolean {
  const { raw } = database;
  return inTransaction(raw, () => {
    raw.exec(ledger);
    if (!pendingMigrations(known, appliedMigrations(database)).includes(migration)) return false;
    raw
      .prepare('INSERT INTO migrations (number, name, checksum, applied_at, version) VALUES (?, ?, ?, ?, ?)')
      .run(
        migration.number,
        migration.name,
        migration.checksum,
        instantFromMillis(options.clock.now()),
        options.version,
      );
    raw.exec(migration.sql);
    raw.pragma(`user_version = ${migration.number}`);
    return true;
  });
}

/**
 * Makes a backup and returns its path. It is written under a temporary name per process and then renamed, so an existing
 * backup is complete and has one writer. Returns null if another process migrated meanwhile: the copy could then contain
 * a newer schema than its name says, and is deleted.
 */
function backUp(database: SqliteDatabase, schema: number): string | null {
  const { raw, file } = database;
  const backup = join(dirname(file), `${basename(file)}.schema-${fourDigits(schema)}.bak`);
  const unfinished = `${backup}.${process.pid}.tmp`;
  removeUnfinished(backup);
  try {
    const descriptor = openSync(unfinished, 'wx', 0o600);
    try {
      raw.prepare('VACUUM INTO ?').run(unfinished);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (appliedMigrations(database).length !== schema) return null;
    renameSync(unfinished, backup);
    return backup;
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** Removes what killed processes left of a backup, each a copy with every name, and the journal that SQLite keeps beside it. */
function removeUnfinished(backup: string): void {
  const folder = dirname(backup);
  for (const name of readdirSync(folder)) {
    const [, pid] = /^\.(\d+)\.tmp(?:-journal)?$/.exec(name.slice(basename(backup).length)) ?? [];
    if (pid === undefined || !name.startsWith(basename(backup))) continue;
    if (Number(pid) === process.pid || !isRunning(Number(pid))) rmSync(join(folder, name), { force: true });
  }
}
