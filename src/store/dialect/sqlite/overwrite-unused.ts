import { statSync } from 'node:fs';
import type { SqliteConnection } from './connect.js';
import { pagesInLog } from './log-pages.js';
import { PageFile } from './page-file.js';
import type { RawDatabase } from './prepared.js';

/*
 * Overwrites every byte of the main file that belongs to nothing, while others read and write the database. SQLite with
 * `secure_delete` zeroes what it deletes, but where it moved rows between pages, their old copies stay in the gaps of those
 * pages. VACUUM removes them as well, but keeps every writer waiting for as long as it rewrites the file.
 *
 * In WAL mode only a checkpoint writes to the main file, and it never writes while a reader uses that file as it was
 * before the first frame of the log. So this process empties the log, begins to read, and checks that the log is still
 * empty: from then on, and until it ends its read transaction, the file keeps its contents. Commits go to the log.
 *
 * Another process may have a page in its cache as it was before it was overwritten, and may write it back. So the log must
 * keep all of its pages until a commit of this process has made the others drop their caches. Pages that were in the log
 * by then are overwritten again; the last of them while no one can write.
 */

export interface OverwriteParts {
  /** Opened for reading and writing. Never closed here: closing it would drop the locks of the process on the file. */
  readonly descriptor: number;
  /** Connected to the same file. Commits while `database` reads. */
  readonly second: RawDatabase;
  /** Empties the log and returns whether it could: a reader may prevent it. */
  readonly emptyLog: () => Promise<boolean>;
  /** For tests: called during each pass over the file. */
  readonly onPass?: () => void;
}

/** So many pages are overwritten within some 10 ms, for which others cannot write. */
const pagesAtLast = 1_000;
/** A commit between emptying the log and reading makes a pass begin again. */
const passesMax = 50;

/** Returns false if readers or writers prevented it. Throws `Unwalkable` for a file that only VACUUM can scrub. */
export async function overwriteUnused(
  { raw, file }: SqliteConnection,
  { descriptor, second, emptyLog, onPass = () => {} }: OverwriteParts,
): Promise<boolean> {
  /** Pages that may have bytes of before the first pass. Null: all. */
  let suspects: ReadonlySet<number> | null = null;
  for (let pass = 0; pass < passesMax; pass += 1) {
    if (!(await emptyLog())) return false;
    const isLast = suspects !== null && suspects.size <= pagesAtLast;
    if (isLast) second.exec('BEGIN IMMEDIATE');
    raw.exec('BEGIN');
    try {
      const roots = raw
        .prepare<[], number>('SELECT rootpage FROM sqlite_schema WHERE rootpage > 1')
        .pluck()
        .all();
      if (statSync(`${file}-wal`).size > 0) continue;
      const pages = new PageFile(descriptor);
      if (suspects === null) pages.overwriteAll(roots);
      else pages.overwrite(suspects);
      onPass();
      pages.sync();
      if (!isLast) second.exec('BEGIN IMMEDIATE');
      dropCaches(second);
      second.exec('COMMIT');
      if (isLast) return true;
      const written = pagesInLog(file, pages.pageSize);
      suspects = suspects === null ? written : both(suspects, written);
    } finally {
      if (raw.inTransaction) raw.exec('ROLLBACK');
      if (second.inTransaction) second.exec('ROLLBACK');
    }
  }
  return false;
}

const both = (some: ReadonlySet<number>, others: ReadonlySet<number>): ReadonlySet<number> =>
  new Set([...some].filter((pageNo) => others.has(pageNo)));

/** Writes the first page without changing it. With the commit, every other connection drops its cache. */
function dropCaches(second: RawDatabase): void {
  const version = Number(second.pragma('user_version', { simple: true }));
  second.pragma(`user_version = ${version}`);
}
