import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Selectable } from 'kysely';
import { Fault, isFault } from '../../../domain/fault.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import { giveTo, ownerFor } from '../../../runtime/file-owner.js';
import { processesUsing } from '../../../runtime/processes-using.js';
import { isSameFile } from '../../../runtime/same-file.js';
import { syncFileNow, syncFolderNow } from '../../../runtime/sync-file.js';
import { stampOf } from '../../backup/file-names.js';
import {
  type Restored,
  type RestoreHooks,
  type RestoreParts,
  rowsIn,
  throwIfStopped,
} from '../../backup/made.js';
import { intoPrivateFile, removeWithLog } from '../../backup/private-target.js';
import { type ErasedSource, erasedNames, erasedSources, keepErased } from '../../erased-sources.js';
import type { ForgottenSince } from '../../erasures.js';
import { followedFrom, listFollowed } from '../../followed-sources.js';
import { refuseInUse } from '../../migrate-data/sqlite-source.js';
import type { FollowedSourcesTable } from '../../operating-schema.js';
import { compareProofs, proofOf, refuseDamage, storedProof } from './backup.js';
import { removeBackups } from './backups.js';
import { connectSqlite, type SqliteConnection } from './connect.js';
import { ownSqlFault, sqliteFault, withSqliteFaults } from './faults.js';
import { inspectFile } from './file.js';
import { markOpen } from './open-files.js';

/**
 * Replaces the mirror at `target` by a backup. The backup is copied, verified and prepared beside it first; a rename then
 * replaces the mirror, so at every moment the old or the new one is there. An existing mirror stays locked meanwhile, which
 * proves that no other process uses it. Throws `usage` for an existing mirror without `force`, `lease_lost` and
 * `database_busy` while another process uses it, and `database_unusable` for a damaged or newer backup.
 */
export async function restoreSqlite(
  backup: string,
  target: string,
  parts: RestoreParts,
  { remember, prepare }: RestoreHooks,
): Promise<Restored> {
  if (inspectBackup(backup) !== 'ours') throw notThere(backup);
  if (isSameFile(backup, target))
    throw new Fault('usage', `${backup} is the mirror itself`, { hint: 'Name a backup of it.' });
  const held = existsSync(target) && inspectFile(target) === 'ours' ? lockMirror(target, parts) : null;
  let replaced = false;
  try {
    const restored = await intoPrivateFile(target, parts.clock.now(), async (copy) => {
      const verified = await whereRoomIs(target, () => copied(backup, copy, parts));
      remember(held?.forgotten ?? [], held?.erased ?? []);
      try {
        await whereRoomIs(target, () => prepare(copy));
      } finally {
        // Made before a migration of the copy.
        removeBackups(copy, Number.POSITIVE_INFINITY);
      }
      asOneFile(copy, held?.erased ?? [], instantFromMillis(parts.clock.now()));
      // The daemon has to open what root restores.
      if (held === null) giveTo(ownerFor(target), copy);
      else giveLike(target, copy);
      throwIfStopped(parts.signal);
      const aside = held?.makeWay(`${target}.damaged-${stampOf(parts.clock.now())}`) ?? null;
      if (held === null) {
        refuseCreated(target);
        // A log without its database would be applied to the new one.
        removeWithLog(target);
      }
      return { ...verified, moved_aside: aside };
    });
    replaced = true;
    return restored;
  } finally {
    held?.release(replaced);
  }
}

/** Reports a full disk as that of the mirror: the copy is written beside it, and nothing goes on by itself. */
async function whereRoomIs<Result>(target: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isFault(error, 'database_full')) throw error;
    throw new Fault('database_full', `no room left to write ${target}`, {
      hint: 'Free space on its disk, then run this again; nothing was replaced.',
      cause: error,
    });
  }
}

/** A daemon that started meanwhile has its mirror open: what it accepted would be deleted with the file. */
function refuseCreated(target: string): void {
  if (inspectFile(target) !== 'ours') return;
  throw new Fault('lease_lost', `another process created ${target} meanwhile`, {
    hint: 'Stop rosterd, then run this again with --force.',
  });
}

/** As `inspectFile`, whose hint is about the configuration of the mirror. */
function inspectBackup(backup: string): ReturnType<typeof inspectFile> {
  try {
    return inspectFile(backup);
  } catch (error) {
    if (!isFault(error)) throw error;
    const hint = 'Name a backup of this mirror: rosterd backup FILE makes one.';
    throw new Fault(error.code, error.message, { hint, cause: error.about.cause });
  }
}

/** Copies the backup and verifies the copy. */
async function copied(backup: string, copy: string, parts: RestoreParts): Promise<Restored> {
  const source = connectSqlite(backup, { readonly: true });
  let proof: ReturnType<typeof storedProof>;
  try {
    source.raw.exec('BEGIN');
    proof = withSqliteFaults(backup, () => storedProof(source.raw));
    await source.raw.backup(copy).catch((error: unknown) => {
      throw sqliteFault(error, backup);
    });
  } finally {
    source.close();
  }
  return closing(connectSqlite(copy), ({ raw }) =>
    withSqliteFaults(backup, () => {
      refuseDamage(raw, backup);
      const found = proofOf(raw, parts.signal);
      if (proof !== null) compareProofs(backup, proof.tables, found);
      raw.exec('DROP TABLE IF EXISTS backup_proof; DELETE FROM leases');
      return {
        format: 'sqlite',
        made_at: proof?.madeAt ?? null,
        schema: Number(raw.pragma('user_version', { simple: true })),
        rows: rowsIn(found),
        proven: proof !== null,
        moved_aside: null,
      };
    }),
  );
}

/**
 * Notes which sources are erased, and puts everything into the file itself: its log must not stay behind when it is renamed.
 */
function asOneFile(copy: string, erased: readonly ErasedSource[], at: Instant): void {
  const closed = markOpen(copy);
  const raw = new Sqlite(copy, { fileMustExist: true });
  try {
    withSqliteFaults(copy, () => {
      for (const { name } of erased) raw.prepare(keepErased).run(name, at);
      raw.pragma('journal_mode = DELETE');
    });
  } finally {
    raw.close();
    closed();
  }
}

/**
 * Gives the copy to the owner and the group of the mirror that it replaces, and lets the group read it if it could. Only
 * root may give a file away; for others, the group that an operator chose for analysts may be out of reach.
 */
function giveLike(target: string, copy: string): void {
  const { uid, gid, mode } = statSync(target);
  try {
    chownSync(copy, uid, gid);
  } catch {
    // The file then stays with the user who restores it.
  }
  const isTheirs = statSync(copy).gid === gid;
  chmodSync(copy, isTheirs ? mode & 0o640 : 0o600);
}

interface LockedMirror {
  readonly forgotten: readonly ForgottenSince[];
  readonly erased: readonly ErasedSource[];
  /** Clears the way for the rename. Returns where a damaged file was moved to. */
  makeWay(aside: string): string | null;
  release(replaced: boolean): void;
}

/** How long to wait for another process that is about to close the file. */
const busyMillis = 500;

/** Locks an existing mirror against every other process until `release`. */
function lockMirror(file: string, parts: RestoreParts): LockedMirror {
  if (!parts.force)
    throw new Fault('usage', `${file} already holds a mirror`, {
      hint: 'add --force to replace it. Everything that is in the mirror but not in the backup is then lost.',
    });
  const closed = markOpen(file);
  let raw: Sqlite.Database | null = null;
  try {
    // Asked before the lock, which would only say that some process has the file open.
    const reader = new Sqlite(file, { readonly: true, fileMustExist: true });
    try {
      refuseInUse({ file, raw: reader }, parts);
    } finally {
      reader.close();
    }
    raw = new Sqlite(file, { fileMustExist: true, timeout: busyMillis });
    return lockWhole(raw, file, closed);
  } catch (error) {
    raw?.close();
    const fault = ownSqlFault(error, file);
    // A broken disk is one of the reasons for a restore.
    const isOfDisk = isFault(fault) && fault.about.lasting === true;
    if (isFault(fault, 'database_unusable') || isOfDisk) return damagedMirror(file, closed);
    closed();
    throw isFault(fault, 'database_busy') && isLocked(fault) ? inUse(file, fault) : fault;
  }
}

function lockWhole(raw: Sqlite.Database, file: string, closed: () => void): LockedMirror {
  // Set before the first access: SQLite then locks the whole file, which only works if no other process has it open, and
  // keeps the lock after the transaction.
  raw.pragma('locking_mode = EXCLUSIVE');
  raw.exec('BEGIN EXCLUSIVE; COMMIT');
  const forgotten = raw.prepare<[], ForgottenSince>('SELECT id, forgotten_at AS at FROM forgotten').all();
  return {
    forgotten,
    erased: erasedIn(raw),
    makeWay: () => {
      withSqliteFaults(file, () => {
        raw.pragma('journal_mode = DELETE');
        // With the file locked, SQLite keeps the journal of that change, and the index of a log that a killed process left.
        // From now on the journal stays in memory, because on disk it would have the name of the new mirror's journal.
        raw.pragma('journal_mode = MEMORY');
      });
      for (const end of ['-journal', '-shm']) rmSync(`${file}${end}`, { force: true });
      return null;
    },
    release: (replaced) => {
      // Another process may be waiting for the lock on the old, already replaced file. The high `user_version` makes it
      // refuse that file.
      if (replaced) raw.exec(`PRAGMA user_version = ${newerThanAny}`);
      raw.close();
      closed();
    },
  };
}

/** A mirror of an older schema can erase no source. */
function erasedIn(raw: Sqlite.Database): readonly ErasedSource[] {
  const registry = raw.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'followed_sources'").get();
  if (registry === undefined) return [];
  const followed = raw.prepare<[], Selectable<FollowedSourcesTable>>(listFollowed).all().map(followedFrom);
  const names = raw.prepare<[], string | null>(erasedNames).pluck().all();
  return erasedSources(
    names.filter((name) => name !== null),
    followed,
  );
}

/** Every version of rosterd refuses a file of this schema. */
const newerThanAny = 2_147_483_647;

/**
 * A damaged file is kept beside the restored one: under a second name, so that the rename replaces it and there is a file
 * at every moment. Its log is moved: it must not be applied to the restored file.
 */
function damagedMirror(file: string, closed: () => void): LockedMirror {
  const undo: (() => void)[] = [];
  return {
    forgotten: [],
    erased: [],
    makeWay: (aside) => {
      nameAlso(file, aside);
      undo.push(() => rmSync(aside, { force: true }));
      for (const end of ['-wal', '-shm'].filter((end) => existsSync(`${file}${end}`))) {
        renameSync(`${file}${end}`, `${aside}${end}`);
        undo.push(() => renameSync(`${aside}${end}`, `${file}${end}`));
      }
      syncFolderNow(dirname(file));
      return aside;
    },
    release: (replaced) => {
      if (!replaced) for (const step of undo.reverse()) step();
      closed();
    },
  };
}

/** Gives a file a second name, or copies it where the file system has no hard links. */
function nameAlso(file: string, other: string): void {
  try {
    linkSync(file, other);
  } catch {
    copyFileSync(file, other, constants.COPYFILE_EXCL);
    chmodSync(other, 0o600);
    syncFileNow(other);
  }
}

function inUse(file: string, cause: Fault): Fault {
  const users = processesUsing(file);
  return new Fault('database_busy', `${file} is in use by ${users.join(', ') || 'another program'}`, {
    hint: 'The mirror is as it was. Stop rosterd and close every program that has the file open, then run this again.',
    cause,
  });
}

/** Whether others have a lock: `database_busy` has more reasons, such as no memory. */
const isLocked = ({ about: { cause } }: Fault) =>
  cause instanceof Sqlite.SqliteError && /^SQLITE_(?:BUSY|LOCKED|PROTOCOL)/.test(cause.code);

function notThere(file: string): Fault {
  return new Fault('usage', `${file} is not a backup: the file is missing or empty`, {
    hint: 'rosterd backup FILE makes one',
  });
}

function closing<Result>(opened: SqliteConnection, work: (opened: SqliteConnection) => Result): Result {
  try {
    return work(opened);
  } finally {
    opened.close();
  }
}
