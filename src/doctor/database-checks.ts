import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { counted } from '../domain/counted.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import { shellWord } from '../domain/shell-word.js';
import type { Clock } from '../runtime/clock.js';
import { isProcessGone } from '../runtime/process-identity.js';
import { withSqliteFaults } from '../store/dialect/sqlite/faults.js';
import { inspectFile, permissionHint } from '../store/dialect/sqlite/file.js';
import { appliedMigrations } from '../store/dialect/sqlite/migrate.js';
import { openSqlite, type SqliteDatabase } from '../store/dialect/sqlite/open.js';
import { pendingMigrations, shippedMigrations } from '../store/migrate.js';
import { type Check, fail, failedBy, pass, skip, warn } from './check.js';
import { integrityCheck, lost, totalsCheck } from './damage-checks.js';
import { diskCheck, noDisk, roomBeside } from './machine-checks.js';

/** Twice the size the writer keeps: only a reader that never ends makes the log grow so far. */
const walBytesMax = 128 * 1024 * 1024;

const names = [
  'database.schema',
  'database.integrity',
  'database.totals',
  'database.log',
  'database.holders',
];

export interface DatabaseFindings {
  readonly checks: readonly Check[];
  /** Whether the other checks can read the database. */
  readonly usable: boolean;
}

/** Checks the file without writing to it, whether or not a daemon has it open. */
export async function databaseChecks(
  file: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<DatabaseFindings> {
  const checks: Check[] = [await folderCheck(file)];
  const size = await sizeOf(file);
  checks.push(
    size === null && (await sizeOf(dirname(file))) === null
      ? noDisk()
      : diskCheck(file, size ?? 0, await roomBeside(file)),
  );
  const opened = openedOrCheck(file);
  if (!('raw' in opened)) {
    return {
      checks: [...checks, opened, ...names.map((name) => skip(name, 'there is no usable database'))],
      usable: false,
    };
  }
  try {
    checks.push(await writableCheck(file), await modeCheck(file));
    const schema = schemaCheck(opened);
    checks.push(
      schema,
      await integrityCheck(file, clock, signal),
      schema.verdict === 'pass'
        ? await totalsCheck(file, clock, signal)
        : skip('database.totals', 'this schema may keep none yet'),
      await logCheck(file),
      holdersCheck(opened, clock),
    );
    return { checks, usable: schema.verdict === 'pass' };
  } finally {
    opened.close();
  }
}

function openedOrCheck(file: string): SqliteDatabase | Check {
  const name = 'database.file';
  try {
    if (inspectFile(file) !== 'ours') return warn(name, `${file} is not there yet`, 'rosterd sync');
    return openSqlite(file, { readonly: true });
  } catch (error) {
    return failedBy(name, error, 'rosterd config show');
  }
}

async function folderCheck(file: string): Promise<Check> {
  const name = 'database.folder';
  const folder = dirname(file);
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const { mode } = await stat(folder);
    return (mode & 0o002) === 0
      ? pass(name, `${folder} may be written to`)
      : warn(name, `every user of this machine may write to ${folder}`, `chmod o-w ${shellWord(folder)}`);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return warn(name, `${folder} is not there yet`, 'rosterd sync');
    return fail(
      name,
      `${folder} may not be written to (${codeOf(error)})`,
      permissionHint(folder, codeOf(error)),
    );
  }
}

async function writableCheck(file: string): Promise<Check> {
  const name = 'database.file';
  for (const one of [file, `${file}-wal`, `${file}-shm`]) {
    try {
      await access(one, constants.R_OK | constants.W_OK);
    } catch (error) {
      // SQLite makes the other two when it opens the mirror.
      if (one !== file && codeOf(error) === 'ENOENT') continue;
      return fail(
        name,
        `${one} may not be written to (${codeOf(error)})`,
        permissionHint(one, codeOf(error)),
      );
    }
  }
  return pass(name, `${file} is a mirror of rosterd, and may be written to`);
}

/** The group may read: an operator may have granted that to analysts. */
async function modeCheck(file: string): Promise<Check> {
  const name = 'database.mode';
  const { mode } = await stat(file);
  const shown = (mode & 0o777).toString(8);
  return (mode & 0o137) === 0
    ? pass(name, `mode ${shown}`)
    : fail(
        name,
        `others on this machine may read names in ${file} (mode ${shown})`,
        `chmod 600 ${shellWord(file)}`,
      );
}

function schemaCheck(database: SqliteDatabase): Check {
  const name = 'database.schema';
  try {
    const shipped = shippedMigrations('sqlite');
    const pending = pendingMigrations(shipped, appliedMigrations(database));
    return pending.length === 0
      ? pass(name, `schema ${shipped.length}, the newest this version knows`)
      : warn(name, `${counted(pending.length, 'migration')} to be run by the next start`, 'rosterd sync');
  } catch (error) {
    return failedBy(name, error, 'npm ci');
  }
}

async function logCheck(file: string): Promise<Check> {
  const bytes = (await sizeOf(`${file}-wal`)) ?? 0;
  const size = `the write-ahead log has ${Math.round(bytes / 1_000_000)} MB`;
  return bytes <= walBytesMax
    ? pass('database.log', size)
    : warn('database.log', `${size}: a reader does not end`, `fuser -v ${shellWord(file)}`);
}

/** A lease exists only during a tick, so an idle daemon does not show here. */
function holdersCheck({ raw, file }: SqliteDatabase, clock: Clock): Check {
  const name = 'database.holders';
  let holders: readonly string[];
  try {
    holders = withSqliteFaults(file, () => leaseHolders(raw, instantFromMillis(clock.now())));
  } catch (error) {
    return failedBy(name, error, lost(file));
  }
  if (holders.length <= 1)
    return pass(name, holders[0] === undefined ? 'no process writes now' : `${holders[0]} writes now`);
  return warn(
    name,
    `${holders.length} programs write sources of it: ${holders.join(', ')}`,
    "ps -fC node | grep 'rosterd'",
  );
}

function leaseHolders(raw: SqliteDatabase['raw'], now: Instant): readonly string[] {
  if (raw.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'leases'").get() === undefined) return [];
  return raw
    .prepare<[string], string>('SELECT DISTINCT holder FROM leases WHERE expires_at > ?')
    .pluck()
    .all(now)
    .filter((holder) => !isProcessGone(holder));
}

async function sizeOf(file: string): Promise<number | null> {
  return await stat(file).then(
    ({ size }) => size,
    () => null,
  );
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
}
