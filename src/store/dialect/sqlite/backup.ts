import { createHash } from 'node:crypto';
import { closeSync, fdatasyncSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Fault } from '../../../domain/fault.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import { unwritable } from '../../../runtime/unwritable.js';
import {
  type BackupMade,
  type BackupParts,
  rowsIn,
  type TableProof,
  throwIfStopped,
} from '../../backup/made.js';
import { intoPrivateFile, removeLog } from '../../backup/private-target.js';
import type { Scrubbed } from '../../erasures.js';
import { migratedTables } from '../../migrate-data/migrated-tables.js';
import { tableLines } from '../../migrate-data/table-lines.js';
import { connectSqlite, type SqliteConnection } from './connect.js';
import { withSqliteFaults } from './faults.js';
import { scrub, scrubInPlace } from './scrub.js';

/** The table of a backup that says when it was made and what was in it. A mirror never contains it. */
const proofTable = `CREATE TABLE backup_proof (
  made_at TEXT NOT NULL,
  version TEXT NOT NULL,
  tables  TEXT NOT NULL
) STRICT`;

/**
 * Pages copied before the event loop runs again: 8 MB. The disk has to have them first: a commit of the daemon would wait
 * for all that was written and is not there yet.
 */
const pagesAtOnce = 2_048;

/**
 * Writes a consistent copy of the mirror while other processes read and write it, and verifies the copy: SQLite's
 * integrity check, and the rows of every table counted and digested on both sides. The copy is a single file without
 * leases, and without bytes of identities that the mirror has erased. Throws `database_full`, `database_unusable`,
 * `usage` for a folder that cannot be written to, and `stopped` when `signal` fires; `target` is then unchanged.
 *
 * Writers do not wait: in WAL mode a read transaction only keeps the log from being emptied.
 */
export async function backUpSqlite(file: string, target: string, parts: BackupParts): Promise<BackupMade> {
  const source = connectSqlite(file, { readonly: true });
  try {
    refuseWithoutRoom(file, target);
    return await intoPrivateFile(target, parts.clock.now(), async (unfinished) => {
      // All pages are copied in one read transaction. Without it, each commit of the daemon would start the copy anew.
      source.raw.exec('BEGIN');
      const proof = await withCopyFaults(file, target, async () => {
        source.raw.prepare('SELECT count(*) FROM sqlite_schema').get();
        await copyPages(source, { target, unfinished }, parts);
        return proofOf(source.raw, parts.signal);
      });
      source.raw.exec('ROLLBACK');
      const made = instantFromMillis(parts.clock.now());
      const finished = await finishCopy(unfinished, proof, made, parts);
      removeLog(target);
      return { ...finished, file: target };
    });
  } finally {
    source.close();
  }
}

async function copyPages(
  { raw }: SqliteConnection,
  { target, unfinished }: { readonly target: string; readonly unfinished: string },
  { signal, onShare, datasync = fdatasyncSync }: BackupParts,
): Promise<void> {
  const descriptor = openSync(unfinished, 'r+');
  try {
    await raw.backup(unfinished, {
      progress: ({ totalPages, remainingPages }) => {
        throwIfStopped(signal);
        try {
          datasync(descriptor);
        } catch (error) {
          throw unwritable(target, error);
        }
        onShare?.(totalPages === 0 ? 0 : 1 - remainingPages / totalPages);
        return pagesAtOnce;
      },
    });
  } finally {
    closeSync(descriptor);
  }
}

/** Removes what belongs to the running process only, checks the copy, and adds the proof. */
async function finishCopy(
  copy: string,
  proof: readonly TableProof[],
  made: Instant,
  { clock, version, signal }: BackupParts,
): Promise<Omit<BackupMade, 'file'>> {
  const database = connectSqlite(copy);
  try {
    const { raw } = database;
    withSqliteFaults(copy, () => raw.exec('DELETE FROM leases'));
    // Pages that the mirror no longer uses may contain bytes of erased identities.
    const scrubbed = (await scrubbedInPlace(database, clock)) ?? scrub(database, clock);
    const schema = withSqliteFaults(copy, () => {
      if (scrubbed.kind === 'no_room') throw noRoom(copy, scrubbed.bytesMissing ?? 0);
      if (scrubbed.kind === 'blocked') throw new Error('nothing else can read an unfinished backup');
      throwIfStopped(signal);
      refuseDamage(raw, copy);
      compareProofs(copy, proof, proofOf(raw, signal));
      raw.exec(proofTable);
      raw
        .prepare('INSERT INTO backup_proof (made_at, version, tables) VALUES (?, ?, ?)')
        .run(made, version, JSON.stringify(proof));
      // A single file, which can also be read from a folder without write access.
      raw.pragma('journal_mode = DELETE');
      return Number(raw.pragma('user_version', { simple: true }));
    });
    const bytes = statSync(copy).size;
    return { format: 'sqlite', bytes, made_at: made, schema, rows: rowsIn(proof), tables: proof, note: null };
  } finally {
    database.raw.close();
    database.close();
  }
}

/** Nothing else has the copy open, so that closing the descriptor drops no lock. */
async function scrubbedInPlace(database: SqliteConnection, clock: Clock): Promise<Scrubbed | null> {
  const descriptor = openSync(database.file, 'r+');
  const second = connectSqlite(database.file, { mustExist: true });
  try {
    const parts = { descriptor, second: second.raw, patience: () => async () => false };
    return await scrubInPlace(database, clock, { ...parts, rewritten: 0 });
  } finally {
    second.close();
    closeSync(descriptor);
  }
}

/** What scrubbing adds to the copy itself is no difference: receipts of removals. */
const changedByScrub: ReadonlySet<string> = new Set(['erasures']);

/** Returns the rows and the digest of every table that a mirror cannot compute again. */
export function proofOf(raw: Sqlite.Database, signal: AbortSignal): readonly TableProof[] {
  const present = new Set(
    raw.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all(),
  );
  return migratedTables
    .filter(({ name }) => present.has(name) && !changedByScrub.has(name))
    .map((table) => {
      const hash = createHash('sha256');
      let rows = 0;
      for (const text of tableLines(raw, table)) {
        throwIfStopped(signal);
        hash.update(text);
        // Line breaks within a value are escaped, so every remaining one ends a row.
        rows += text.split('\n').length - 1;
      }
      return { table: table.name, rows, sha256: hash.digest('hex') };
    });
}

/** Throws `database_unusable` for the first table that differs. */
export function compareProofs(
  file: string,
  wanted: readonly TableProof[],
  found: readonly TableProof[],
): void {
  for (const { table, rows, sha256 } of wanted) {
    const other = found.find((one) => one.table === table);
    if (other?.rows === rows && other.sha256 === sha256) continue;
    throw new Fault(
      'database_unusable',
      `${table} in ${file} differs: ${rows} rows expected, ${other?.rows ?? 'none'} found` +
        (other?.rows === rows ? ' with other content' : ''),
      { hint: 'Check the disk. Use another backup, or make a new one.' },
    );
  }
}

/** Runs SQLite's own checks of the file. Throws `database_unusable` with the first finding. */
export function refuseDamage(raw: Sqlite.Database, file: string): void {
  const [found] = raw.prepare<[], string>('PRAGMA integrity_check(1)').pluck().all();
  const orphans = found === 'ok' ? raw.prepare('PRAGMA foreign_key_check').all().length : 0;
  if (found === 'ok' && orphans === 0) return;
  throw new Fault(
    'database_unusable',
    `${file} is damaged: ${found === 'ok' ? 'rows without a parent' : 'its pages are inconsistent'}`,
    {
      hint: 'Check the disk. Use another backup, or make a new one.',
    },
  );
}

export interface StoredProof {
  readonly madeAt: Instant;
  readonly tables: readonly TableProof[];
}

/** Returns the proof of a backup; null for a copy that was made by other means. */
export function storedProof(raw: Sqlite.Database): StoredProof | null {
  const present = raw.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'backup_proof'").get();
  if (present === undefined) return null;
  const row = raw
    .prepare<[], { made_at: Instant; tables: string }>('SELECT made_at, tables FROM backup_proof')
    .get();
  return row === undefined ? null : { madeAt: row.made_at, tables: JSON.parse(row.tables) as TableProof[] };
}

function refuseWithoutRoom(file: string, target: string): void {
  const folder = dirname(target);
  let free: number;
  try {
    const { bavail, bsize, blocks } = statfsSync(folder);
    // A file system such as /proc has no size. Creating the file there reports why that fails.
    if (blocks === 0) return;
    free = bavail * bsize;
  } catch {
    // The folder does not exist yet; creating it reports any problem.
    return;
  }
  const missing = statSync(file).size - free;
  if (missing > 0) throw noRoom(target, missing);
}

function noRoom(file: string, bytesMissing: number): Fault {
  const megabytes = Math.ceil(bytesMissing / 1_048_576);
  return new Fault('database_full', `no room for ${file}: ${megabytes} MB are missing on its disk`, {
    hint: 'Free space, or name a file on another disk.',
  });
}

/** As `withSqliteFaults`, for a copy, which takes several turns of the event loop. */
async function withCopyFaults<Result>(
  file: string,
  target: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    // The copy of a page does not say which of the two files failed.
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_IOERR')
      throw new Fault('database_busy', `${file} could not be copied to ${target} (${error.code})`, {
        hint: 'Check the disks of both, and the quota of the owner of the copy.',
        lasting: true,
        cause: error,
      });
    // The mirror is open, and only read.
    const isOfTarget = error instanceof Sqlite.SqliteError && /^SQLITE_(FULL|CANTOPEN)/.test(error.code);
    return withSqliteFaults(isOfTarget ? target : file, () => {
      throw error;
    });
  }
}
