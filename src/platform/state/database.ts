import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import Sqlite from 'better-sqlite3';
import { Fault } from '../../domain/fault.js';
import { schemaPath } from '../../runtime/package-root.js';
import { fold } from './fold.js';

export type State = Sqlite.Database;

/** How long a start waits for a process that is about to end. */
const busyMillis = 1_000;

/**
 * Opens the platform's database: `:memory:`, or a file that survives a restart. better-sqlite3 is synchronous, so the
 * statements of two requests cannot interleave: a synchronous handler is serializable. With `image`, the serialized
 * database of another platform, it opens a copy of that in memory. Throws `usage` while another process uses the file, and
 * for a database that is not a sandbox's.
 */
export function openState(file: string, image?: Buffer): State {
  const shipped = readdirSync(schemaPath('platform'))
    .filter((entry) => entry.endsWith('.sql'))
    .sort();
  if (file !== ':memory:') {
    createPrivate(file);
    refuseForeign(file, shipped[0]);
  }
  const state = new Sqlite(image ?? file, { timeout: busyMillis });
  if (file !== ':memory:') {
    takeAlone(state, file);
    // What reading it before left. Nothing has it open: the lock is taken.
    rmSync(`${file}-shm`, { force: true });
  }
  // A large world in memory then has fewer pages, which cost some 300 bytes each beside their content.
  if (file === ':memory:' && image === undefined) state.pragma('page_size = 16384');
  state.pragma('journal_mode = WAL');
  state.pragma('synchronous = NORMAL');
  state.pragma('foreign_keys = ON');
  state.function('fold', { deterministic: true }, (text) => (typeof text === 'string' ? fold(text) : text));
  state.exec('CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, checksum TEXT NOT NULL) STRICT');
  const applied = new Map(
    state
      .prepare<[], { name: string; checksum: string }>('SELECT name, checksum FROM migrations')
      .all()
      .map((row) => [row.name, row.checksum]),
  );
  const unknown = [...applied.keys()].find((name) => !shipped.includes(name));
  if (unknown !== undefined) {
    state.close();
    throw new Fault('usage', `${file} was written by a later version of the sandbox (it has ${unknown})`, {
      hint: 'install that version of rosterd again, name another file, or remove this one',
    });
  }
  for (const name of shipped) {
    const sql = readFileSync(schemaPath('platform', name), 'utf8');
    const checksum = createHash('sha256').update(sql).digest('hex');
    const before = applied.get(name);
    if (before === checksum) continue;
    if (before !== undefined)
      throw new Fault('usage', `${file} was made by another version of the sandbox (${name} differs)`, {
        hint: 'name another file, or remove this one',
      });
    state.transaction(() => {
      state.exec(sql);
      state.prepare('INSERT INTO migrations (name, checksum) VALUES (?, ?)').run(name, checksum);
    })();
  }
  return state;
}

/**
 * The file contains personal data and keys, so only its owner may read it. A file that can be used is not opened: closing
 * it would release the locks that another sandbox of this process has on it. Opening any other throws the reason.
 */
function createPrivate(file: string): void {
  const there = statSync(file, { throwIfNoEntry: false });
  // Opening a pipe would wait for its reader, and SQLite would put a journal beside a device.
  if (there !== undefined && !there.isFile() && !there.isDirectory())
    throw new Fault('usage', `--data: ${file} is not an ordinary file`, {
      hint: 'name a file of a sandbox, or one that does not exist yet',
    });
  if (!isWritableFile(file)) closeSync(openSync(file, 'a', 0o600));
}

function isWritableFile(file: string): boolean {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * Throws `usage` for a mirror, or a database of another program. It is only read, so it stays as it is, with its log. A file
 * of a sandbox is empty or has the first migration; one that was killed before that has nothing but the table of migrations.
 */
function refuseForeign(file: string, first: string | undefined): void {
  const seen = new Sqlite(file, { readonly: true, timeout: busyMillis });
  try {
    const names = (sql: string) => seen.prepare<[], string>(sql).pluck().all();
    const tables = names("SELECT name FROM sqlite_schema WHERE type = 'table'");
    if (tables.length === 0) return;
    const columns = names("SELECT name FROM pragma_table_info('migrations')");
    if (columns.join() === 'name,checksum') {
      const applied = names('SELECT name FROM migrations');
      if (tables.length === 1 || (first !== undefined && applied.includes(first))) return;
    }
  } catch (error) {
    throw isBusy(error) ? inUse(file, error) : error;
  } finally {
    seen.close();
  }
  throw new Fault('usage', `--data: ${file} is a database, but not of a sandbox`, {
    hint: 'name a file of a sandbox, or one that does not exist yet; this one was left as it is',
  });
}

const isBusy = (error: unknown): boolean =>
  error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY');

function inUse(file: string, cause: unknown): Fault {
  return new Fault('usage', `--data: ${file} is in use by another process`, {
    hint: 'stop the sandbox that uses it, or name another file',
    cause,
  });
}

/**
 * Locks the file until it is closed. Two processes would each have their own clock and their own plan of deliveries. It is a
 * lock of the operating system, so a killed process leaves nothing behind.
 */
function takeAlone(state: State, file: string): void {
  try {
    state.pragma('locking_mode = EXCLUSIVE');
    // The lock is taken by the first access.
    state.pragma('journal_mode = WAL');
    state.exec('BEGIN IMMEDIATE; COMMIT');
  } catch (error) {
    state.close();
    throw isBusy(error) ? inUse(file, error) : error;
  }
}
