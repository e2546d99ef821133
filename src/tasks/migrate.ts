import { ForgottenLedger } from '../daemon/forgotten-ledger.js';
import { leaseMillis } from '../daemon/mirror-parts.js';
import { openMirror } from '../daemon/open-mirror.js';
import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { silentLogger } from '../runtime/logger.js';
import { packageVersion } from '../runtime/package-version.js';
import { type MirrorPlace, placeText, secretUrlOf } from '../store/database-location.js';
import { migratePostgres } from '../store/dialect/postgres/migrate.js';
import { openPostgres } from '../store/dialect/postgres/open.js';
import { carriedTables } from '../store/migrate-data/carried-tables.js';
import { carryOver } from '../store/migrate-data/carry-over.js';
import { lookAtTarget } from '../store/migrate-data/postgres-target.js';
import { type CarrySource, lockSource, lookAtSource } from '../store/migrate-data/sqlite-source.js';

export interface MigrateRequest {
  readonly from: MirrorPlace;
  readonly to: MirrorPlace;
  /** Where the ids of the forgotten are kept; null when no configuration says it. */
  readonly ledgerFile: string | null;
  /** Only look at both sides. */
  readonly dryRun: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  onRows?(rows: number, rowsTotal: number): void;
}

export interface Migration {
  readonly from: string;
  /** Without its password. */
  readonly to: string;
  /** What to name under `database` from now on; the password beside it. */
  readonly database: string;
  readonly dry_run: boolean;
  readonly rows: number;
  /** Digests are of every row as both sides gave it; null when nothing was carried. */
  readonly tables: readonly {
    readonly table: string;
    readonly rows: number;
    readonly sha256: string | null;
  }[];
}

/**
 * Carries a mirror from a SQLite file to PostgreSQL, so that a daemon goes on there from the same cursor. The file stays
 * as it is. Throws `usage` for other pairs of databases, `lease_lost` while somebody works the source, and
 * `database_unusable` for a target that is not empty.
 */
export async function migrate(request: MigrateRequest): Promise<Migration> {
  const { from, to, dryRun, clock, ledgerFile } = request;
  if (from.kind !== 'sqlite' || to.kind !== 'postgres')
    throw new Fault(
      'usage',
      `a mirror is carried from a SQLite file to PostgreSQL, not from ${from.kind} to ${to.kind}`,
      {
        hint: 'Any other way: name the new place under "database" and let rosterd sync list everything again.',
      },
    );
  const { file } = from;
  const told = { clock, leaseMs: leaseMillis };
  const url = await secretUrlOf(to);
  const about = { from: placeText(from), to: placeText(to), database: to.url, dry_run: dryRun };
  const look = lookAtSource(file, told);
  look.close();
  await lookAtTarget(url);
  if (dryRun) return { ...about, ...planned(look) };
  // As whenever a mirror is opened to be written: an old copy may know people who were forgotten since.
  if (ledgerFile !== null) await holdAgainst(ledgerFile, file, clock);
  const source = lockSource(file, told);
  try {
    const tables = await carried(source, url, request);
    return { ...about, rows: sum(tables), tables };
  } finally {
    source.close();
  }
}

async function carried(source: CarrySource, url: string, { clock, signal, onRows }: MigrateRequest) {
  const database = await openPostgres(url);
  try {
    await migratePostgres(database, { clock, version: packageVersion() });
    const total = planned(source).rows;
    return await carryOver(source, { database, url }, { signal, onRows: (rows) => onRows?.(rows, total) });
  } finally {
    await database.close();
  }
}

async function holdAgainst(ledgerFile: string, file: string, clock: Clock): Promise<void> {
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

function planned({ counts }: CarrySource): Pick<Migration, 'rows' | 'tables'> {
  const tables = carriedTables.map(({ name }) => ({
    table: name,
    rows: counts.get(name) ?? 0,
    sha256: null,
  }));
  return { rows: sum(tables), tables };
}

function sum(tables: readonly { readonly rows: number }[]): number {
  return tables.reduce((all, { rows }) => all + rows, 0);
}
