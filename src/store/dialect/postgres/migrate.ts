import { instantFromMillis } from '../../../domain/instant.js';
import {
  type AppliedMigration,
  labelOf,
  type MigrateOptions,
  type Migration,
  pendingMigrations,
  shippedMigrations,
} from '../../migrate.js';
import { describePostgres, dropTypedViews } from './described-schema.js';
import { namingHolders } from './lock-holders.js';
import { endOlderMembers } from './older-members.js';
import type { PostgresDatabase } from './open.js';
import { completeGrants, grantReaders } from './roles.js';
import { withSchemas } from './schema-sql.js';
import { inTransaction, type Transaction } from './transaction.js';

export interface Migrated {
  /** Names such as `0001_mirror`, in order. */
  readonly ran: readonly string[];
  /** Always null: PostgreSQL is backed up with its own tools. */
  readonly backup: null;
  /** Why the schema `analytics` has no views, or null. */
  readonly withoutTypedViews: string | null;
}

export interface PostgresMigrateOptions extends MigrateOptions {
  /** Whether a member's process is known to have died, although its heartbeat has not expired. */
  readonly isGone?: (member: string) => boolean;
}

const ledger = `CREATE TABLE IF NOT EXISTS migrations (
  number     integer PRIMARY KEY,
  name       text COLLATE "C" NOT NULL,
  checksum   text COLLATE "C" NOT NULL,
  applied_at text COLLATE "C" NOT NULL,
  version    text COLLATE "C" NOT NULL
)`;

/** If several daemons start at once, one migrates and the others wait. The keys are "rost" in ASCII and the schema. */
const lock = "SELECT pg_advisory_xact_lock(x'726f7374'::int, hashtext(current_schema()))";

/**
 * Runs all pending migrations in one transaction: a killed process leaves the schema migrated or untouched. Throws
 * `database_unusable` while daemons of the version before use the database, and `database_busy` while another transaction
 * has a lock that a migration needs.
 */
export async function migratePostgres(
  database: PostgresDatabase,
  options: PostgresMigrateOptions,
): Promise<Migrated> {
  const known = options.migrations ?? shippedMigrations('postgres');
  const pending = pendingMigrations(known, await appliedMigrations(database));
  if (options.dryRun === true) return { ran: pending.map(labelOf), backup: null, withoutTypedViews: null };
  try {
    return await migrated(database, known, options);
  } catch (error) {
    // Typically a person's transaction that has read a view, which keeps a lock until its end.
    throw await namingHolders(database, error, 'The schema was not migrated.');
  }
}

function migrated(
  database: PostgresDatabase,
  known: readonly Migration[],
  options: PostgresMigrateOptions,
): Promise<Migrated> {
  return inTransaction(database, async (transaction) => {
    await transaction.run(lock);
    await transaction.run(ledger);
    // Another process may have migrated while this one waited for the lock.
    const remaining = pendingMigrations(known, await readLedger(transaction));
    if (remaining.length > 0) {
      await endOlderMembers(transaction, options.isGone ?? (() => false));
      await dropTypedViews(transaction, database);
    }
    for (const migration of remaining) await runOne(transaction, database, migration, options);
    if (options.migrations === undefined) {
      const grant = remaining.length > 0 ? grantReaders : completeGrants;
      await grant(transaction, database);
    }
    const withoutTypedViews =
      options.migrations === undefined ? await describePostgres(transaction, database) : null;
    return { ran: remaining.map(labelOf), backup: null, withoutTypedViews };
  });
}

export function appliedMigrations(database: PostgresDatabase): Promise<readonly AppliedMigration[]> {
  return inTransaction(database, async (transaction) => {
    const [found] = await transaction.rows<{ present: 0 | 1 }>(
      "SELECT to_regclass('migrations') IS NOT NULL AS present",
    );
    return found?.present === 1 ? readLedger(transaction) : [];
  });
}

function readLedger(transaction: Transaction): Promise<AppliedMigration[]> {
  return transaction.rows('SELECT number, name, checksum, version FROM migrations ORDER BY number');
}

async function runOne(
  transaction: Transaction,
  database: PostgresDatabase,
  { number, name, checksum, sql }: Migration,
  { clock, version }: MigrateOptions,
): Promise<void> {
  await transaction.run(withSchemas(sql, database));
  await transaction.run(
    'INSERT INTO migrations (number, name, checksum, applied_at, version) VALUES ($1, $2, $3, $4, $5)',
    ...[number, name, checksum, instantFromMillis(clock.now()), version],
  );
}
