import { ForgottenLedger } from '../daemon/forgotten-ledger.js';
import { leaseMillis } from '../daemon/mirror-parts.js';
import { openMirror } from '../daemon/open-mirror.js';
import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { silentLogger } from '../runtime/logger.js';
import { packageVersion } from '../runtime/package-version.js';
import { type DatabaseLocation, locationText, secretUrlOf } from '../store/database-location.js';
import { migratePostgres } from '../store/dialect/postgres/migrate.js';
import { openPostgres } from '../store/dialect/postgres/open.js';
import { migrateData } from '../store/migrate-data/migrate-data.js';
import { migratedTables } from '../store/migrate-data/migrated-tables.js';
import { lookAtTarget } from '../store/migrate-data/postgres-target.js';
import { lockSource, lookAtSource, type MigrationSource } from '../store/migrate-data/sqlite-source.js';

export interface MigrateRequest {
  readonly from: DatabaseLocation;
  readonly to: DatabaseLocation;
  /** The ledger of forgotten ids; null when there is no configuration. */
  readonly ledgerFile: string | null;
  /** Only checks both databases. */
  readonly dryRun: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  onRows?(rows: number, rowsTotal: number): void;
}

export interface Migration {
  readonly from: string;
  /** Without its password. */
  readonly to: string;
  /** The new value of the `database` setting, without the password. */
  readonly database: string;
  readonly dry_run: boolean;
  readonly rows: number;
  /** Each digest covers every row, equal in both databases; null in a dry run. */
  readonly tables: readonly {
    readonly table: string;
    readonly rows: number;
    readonly sha256: string | null;
  }[];
}

/**
 * Copies a mirror from a SQLite file to PostgreSQL, so that a daemon continues there from the same cursor. The file is
 * not changed. Throws `usage` for other pairs of databases, `lease_lost` while another process works a source, and
 * `database_unusable` for a target that is not empty.
 */
export async function migrate(request: MigrateRequest): Promise<Migration> {
  const { from, to, dryRun, clock, ledgerFile } = request;
  if (from.kind !== 'sqlite' || to.kind !== 'postgres')
    throw new Fault(
      'usage',
      `a mirror can only be migrated from a SQLite file to PostgreSQL, not from ${from.kind} to ${to.kind}`,
      {
        hint: 'Otherwise set "database" to the new location and let rosterd sync list everything again.',
      },
    );
  const { file } = from;
  const leases = { clock, leaseMs: leaseMillis };
  const url = await secretUrlOf(to);
  const about = { from: locationText(from), to: locationText(to), database: to.url, dry_run: dryRun };
  const look = lookAtSource(file, leases);
  look.close();
  await lookAtTarget(url);
  if (dryRun) return { ...about, ...planned(look) };
  // Opening for writing applies the ledger: the file may be an old copy with people who were forgotten since.
  if (ledgerFile !== null) await applyLedger(ledgerFile, file, clock);
  const source = lockSource(file, leases);
  try {
    const tables = await copied(source, url, request);
    return { ...about, rows: sum(tables), tables };
  } finally {
    source.close();
  }
}

async function copied(source: MigrationSource, url: string, { clock, signal, onRows }: MigrateRequest) {
  const database = await openPostgres(url);
  try {
    await migratePostgres(database, { clock, version: packageVersion() });
    const total = planned(source).rows;
    return await migrateData(source, { database, url }, { signal, onRows: (rows) => onRows?.(rows, total) });
  } finally {
    await database.close();
  }
}

async function applyLedger(ledgerFile: string, file: string, clock: Clock): Promise<void> {
  const mirror = await openMirror(
    { kind: 'sqlite', file },
    {
      clock,
      ledger: new ForgottenLedger(ledgerFile),
      identity: 'keep',
      logger: silentLogger,
      existing: true,
    },
  );
  await mirror.close();
}

function planned({ counts }: MigrationSource): Pick<Migration, 'rows' | 'tables'> {
  const tables = migratedTables.map(({ name }) => ({
    table: name,
    rows: counts.get(name) ?? 0,
    sha256: null,
  }));
  return { rows: sum(tables), tables };
}

function sum(tables: readonly { readonly rows: number }[]): number {
  return tables.reduce((all, { rows }) => all + rows, 0);
}
