import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Fault } from '../../../../src/domain/fault.js';
import { systemClock } from '../../../../src/runtime/clock.js';
import { migrateSqlite } from '../../../../src/store/dialect/sqlite/migrate.js';
import { SqliteMirror } from '../../../../src/store/dialect/sqlite/mirror.js';
import { openSqlite, type SqliteDatabase } from '../../../../src/store/dialect/sqlite/open.js';
import { tempFolder } from '../../temp-folder.js';

function open(file: string, options = {}): SqliteDatabase {
  const database = openSqlite(file, options);
  onTestFinished(() => database.close());
  return database;
}

function migrated(file: string): SqliteDatabase {
  const database = open(file);
  migrateSqlite(database, { clock: systemClock, version: '0.1.0' });
  return database;
}

function faultOf(work: () => unknown): Fault {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('opening to write', () => {
  test('opening to write sets the pragmas for safe commits and erasures', () => {
    const { raw } = open(join(tempFolder(), 'mirror.db'));
    const settings = ['journal_mode', 'synchronous', 'foreign_keys', 'secure_delete', 'busy_timeout'];
    expect(settings.map((name) => raw.pragma(name, { simple: true }))).toEqual(['wal', 2, 1, 1, 2_000]);
  });

  test('opening an existing WAL file keeps synchronous at FULL', () => {
    const file = join(tempFolder(), 'mirror.db');
    openSqlite(file).close();
    expect(open(file).raw.pragma('synchronous', { simple: true })).toBe(2);
  });

  // Only root can take a file away from the user of the daemon.
  test.skipIf(process.geteuid?.() !== 0)('a new database of root belongs to the user of its folder', () => {
    const folder = tempFolder();
    chownSync(folder, 65_534, 65_534);
    migrated(join(folder, 'data', 'mirror.db'));
    const names = ['', 'data', 'data/mirror.db', 'data/mirror.db-wal', 'data/mirror.db-shm'];
    expect(names.map((name) => statSync(join(folder, name)).uid)).toEqual(names.map(() => 65_534));
  });

  test('new database files and their folder are readable only by the owner, whatever the umask', () => {
    const folder = join(tempFolder(), 'data');
    const before = process.umask(0);
    try {
      migrated(join(folder, 'mirror.db'));
    } finally {
      process.umask(before);
    }
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const modes = Object.fromEntries(
      readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]),
    );
    expect(modes).toEqual({ 'mirror.db': 0o600, 'mirror.db-wal': 0o600, 'mirror.db-shm': 0o600 });
  });

  test('opening removes read permission for others and keeps it for the group', () => {
    const file = join(tempFolder(), 'mirror.db');
    openSqlite(file).close();
    chmodSync(file, 0o664);
    open(file);
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  test('opening refuses the database of another program and leaves its bytes unchanged', () => {
    const folder = tempFolder();
    const file = join(folder, 'other.db');
    const other = new Sqlite(file);
    other.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)');
    other.close();
    const before = readFileSync(file);
    const fault = faultOf(() => openSqlite(file));
    expect(fault.code).toBe('database_unusable');
    expect(fault.message).toContain('belongs to another program');
    expect(fault.about.hint).toContain('"database"');
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(folder)).toEqual(['other.db']);
  });

  test.each(['hello', 'x'.repeat(10_000), 'SQLite format 3\0'])(
    'opening refuses a file that is not a database: %#',
    (content) => {
      const file = join(tempFolder(), 'notes.txt');
      writeFileSync(file, content);
      const fault = faultOf(() => openSqlite(file));
      expect([fault.code, fault.message]).toEqual(['database_unusable', `${file} is not a SQLite database`]);
      expect(readFileSync(file, 'utf8')).toBe(content);
    },
  );

  test.each([{}, { readonly: true }])(
    'opening refuses a folder, a pipe and a device as usage: %o',
    (options) => {
      const folder = tempFolder();
      const pipe = join(folder, 'pipe.db');
      execFileSync('mkfifo', [pipe]);
      const kinds = { [folder]: 'folder', [pipe]: 'pipe', '/dev/tty': 'device' };
      for (const [path, kind] of Object.entries(kinds)) {
        const { code, message, about } = faultOf(() => openSqlite(path, options));
        expect([code, message]).toEqual(['usage', `${path} is a ${kind}, not a database file`]);
        expect(about.hint).toContain('Name a file');
      }
    },
  );

  test('opening refuses a path below a file', () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'file'), '');
    expect(faultOf(() => openSqlite(join(folder, 'file', 'mirror.db'))).code).toBe('database_unusable');
  });

  test('opening a damaged file fails with a hint and does not crash', () => {
    const file = join(tempFolder(), 'mirror.db');
    migrated(file).close();
    const bytes = readFileSync(file);
    bytes.fill(0xff, 100, 8_192);
    writeFileSync(file, bytes);
    const fault = faultOf(() => {
      const database = open(file);
      migrateSqlite(database, { clock: systemClock, version: '0.1.0' });
    });
    expect([fault.code, fault.about.hint]).toEqual([
      'database_unusable',
      expect.stringMatching(/^Check its disk and the log of the kernel first.* Move the file aside/),
    ]);
  });

  test('opening refuses a newer schema, naming the version that wrote it', () => {
    const file = join(tempFolder(), 'mirror.db');
    const database = migrated(file);
    database.raw.exec("INSERT INTO migrations VALUES (99, 'later', '', '', '7.1.0')");
    database.raw.pragma('user_version = 99');
    database.close();
    expect(faultOf(() => openSqlite(file)).message).toContain('written by rosterd 7.1.0');
  });

  test('a write while another writer holds its transaction open fails with `database_busy`', () => {
    const file = join(tempFolder(), 'mirror.db');
    open(file).raw.exec('BEGIN IMMEDIATE');
    const second = open(file, { busyTimeoutMs: 1 });
    const fault = faultOf(() => migrateSqlite(second, { clock: systemClock, version: '0.1.0' }));
    expect(fault.code).toBe('database_busy');
  });

  test('closing a database twice is allowed', () => {
    const file = join(tempFolder(), 'mirror.db');
    const database = open(file);
    database.close();
    expect(() => database.close()).not.toThrow();
  });
});

describe('opening to read', () => {
  test('a read-only connection sees commits of the daemon and cannot write', () => {
    const file = join(tempFolder(), 'mirror.db');
    const writer = migrated(file);
    const reader = open(file, { readonly: true });
    writer.raw.exec("INSERT INTO sources (name, fingerprint) VALUES ('acme', 'f')");
    expect(reader.raw.prepare('SELECT name FROM sources').pluck().all()).toEqual(['acme']);
    expect(() => reader.raw.exec('DELETE FROM sources')).toThrow(/readonly/);
  });

  test('a read-only connection works while the daemon is stopped, because the emptied WAL files remain', () => {
    const file = join(tempFolder(), 'mirror.db');
    migrated(file).close();
    expect(existsSync(`${file}-shm`)).toBe(true);
    expect(statSync(`${file}-wal`).size).toBe(0);
    const reader = open(file, { readonly: true });
    expect(reader.raw.prepare('SELECT count(*) FROM investments').pluck().get()).toBe(0);
  });

  test('opening read-only does not create a missing file', () => {
    const folder = tempFolder();
    mkdirSync(join(folder, 'data'));
    const fault = faultOf(() => openSqlite(join(folder, 'data', 'mirror.db'), { readonly: true }));
    expect(fault.about.hint).toContain('rosterd sync');
    expect(readdirSync(join(folder, 'data'))).toEqual([]);
  });
});

test('a file with damaged triggers is reported as damaged, not as an internal error', () => {
  const file = join(tempFolder(), 'mirror.db');
  const database = migrated(file);
  const damaged = (trigger: string) => () => {
    database.raw.exec(trigger);
    return new SqliteMirror(database, { clock: systemClock, leaseMs: 60_000 });
  };
  const words = 'CREATE TRIGGER cut AFTER UPDATE ON investment_rows BEGIN SELECT xoalesce(1, 2); END';
  const fault = faultOf(damaged(words));
  expect(fault).toMatchObject({ code: 'database_unusable' });
  expect(fault.message).toBe(`${file} is damaged: its format, tables, views or triggers are not ours`);
});

test('a file with an unknown SQLite format number is reported as damaged', () => {
  const file = join(tempFolder(), 'mirror.db');
  migrated(file).close();
  const bytes = readFileSync(file);
  // The schema format number in the file header.
  bytes.writeUInt32BE(77, 44);
  writeFileSync(file, bytes);
  expect(faultOf(() => openSqlite(file, { readonly: true }))).toMatchObject({ code: 'database_unusable' });
});
