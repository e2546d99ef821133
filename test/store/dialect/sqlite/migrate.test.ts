import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { processName } from '../../../../src/runtime/process-identity.js';
import { appliedMigrations, migrateSqlite } from '../../../../src/store/dialect/sqlite/migrate.js';
import { openSqlite, type SqliteDatabase } from '../../../../src/store/dialect/sqlite/open.js';
import type { Migration } from '../../../../src/store/migrate.js';
import { tempFolder } from '../../temp-folder.js';

const base = { clock: systemClock, version: '0.1.0' };

function open(file = join(tempFolder(), 'mirror.db')): SqliteDatabase {
  const database = openSqlite(file);
  onTestFinished(() => database.close());
  return database;
}

function step(number: number, sql: string): Migration {
  return { number, name: `step${number}`, sql, checksum: `sum of ${sql}` };
}

function tables({ raw }: SqliteDatabase): unknown[] {
  return raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all();
}

const one = step(1, 'CREATE TABLE a (x); INSERT INTO a VALUES (1)');
const two = step(2, 'CREATE TABLE b (x)');

test('the shipped migrations run once, in order, and are recorded with the version that ran them', () => {
  const database = open();
  const first = migrateSqlite(database, base);
  expect(first.ran.slice(0, 2)).toEqual(['0001_mirror', '0002_views']);
  expect(first.backup).toBeNull();
  expect(migrateSqlite(database, base)).toEqual({ ran: [], backup: null });
  const rows = database.raw.prepare('SELECT number, version, length(checksum) AS sum FROM migrations').all();
  expect(rows[0]).toEqual({ number: 1, version: '0.1.0', sum: 64 });
  expect(database.raw.pragma('user_version', { simple: true })).toBe(first.ran.length);
});

test('a dry run reports the pending migrations and changes nothing', () => {
  const database = open();
  expect(migrateSqlite(database, { ...base, migrations: [one, two], dryRun: true }).ran).toEqual([
    '0001_step1',
    '0002_step2',
  ]);
  expect(tables(database)).toEqual([]);
});

test('an edited migration is refused as dirty before anything runs', () => {
  const database = open();
  migrateSqlite(database, { ...base, migrations: [one] });
  const edited = { ...one, checksum: 'other' };
  expect(() => migrateSqlite(database, { ...base, migrations: [edited, two] })).toThrow(/step1\) is dirty/);
  expect(tables(database)).toEqual(['a', 'migrations']);
});

test('a database of a later version is refused, naming that version', () => {
  const database = open();
  migrateSqlite(database, { ...base, version: '9.0.0', migrations: [one, two] });
  expect(() => migrateSqlite(database, { ...base, migrations: [one] })).toThrow(/written by rosterd 9\.0\.0/);
});

test('a migration that fails halfway is rolled back, and the ones before it stay', () => {
  const database = open();
  const broken = step(2, 'CREATE TABLE b (x); CREATE TABLE a (x)');
  expect(() => migrateSqlite(database, { ...base, migrations: [one, broken] })).toThrow(/already exists/);
  expect(tables(database)).toEqual(['a', 'migrations']);
  expect(migrateSqlite(database, { ...base, migrations: [one, two] }).ran).toEqual(['0002_step2']);
});

test('migrating a database with content first makes a backup that only its owner can read, and removes those of killed processes', () => {
  const database = open();
  migrateSqlite(database, { ...base, migrations: [one] });
  const ended = spawnSync(process.execPath, ['-e', '']).pid;
  const left = [ended, process.pid].map((pid) => `${database.file}.schema-0001.bak.${pid}.tmp`);
  for (const path of left.flatMap((each) => [each, `${each}-journal`])) writeFileSync(path, 'half a copy');
  const { backup } = migrateSqlite(database, { ...base, migrations: [one, two] });
  expect(backup).toBe(`${database.file}.schema-0001.bak`);
  const copies = readdirSync(dirname(database.file)).filter((name) => name.includes('.bak'));
  expect(copies).toEqual([basename(String(backup))]);
  expect(statSync(String(backup)).mode & 0o777).toBe(0o600);
  const copy = new Sqlite(String(backup), { readonly: true });
  onTestFinished(() => void copy.close());
  expect(copy.prepare('SELECT x FROM a').pluck().all()).toEqual([1]);
  expect(copy.pragma('user_version', { simple: true })).toBe(1);
});

test('a backup taken while another process migrated is not kept as one of the older schema', () => {
  const database = open();
  migrateSqlite(database, { ...base, migrations: [one] });
  const theirs = `${database.file}.schema-0001.bak.1.tmp`;
  writeFileSync(theirs, 'half a copy');
  const other = new Sqlite(database.file);
  onTestFinished(() => void other.close());
  const migrateElsewhere = () =>
    other.exec(`${two.sql}; PRAGMA user_version = 2;
      INSERT INTO migrations VALUES (2, '${two.name}', '${two.checksum}', '2026-10-20T12:00:00.000Z', '0.1.0')`);
  const raw = new Proxy(database.raw, {
    get: (target, key) => {
      if (key === 'prepare')
        return (sql: string) => {
          if (sql.startsWith('VACUUM INTO')) migrateElsewhere();
          return target.prepare(sql);
        };
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const both = { ...base, migrations: [one, two] };
  expect(migrateSqlite({ ...database, raw }, both)).toEqual({ ran: [], backup: null });
  expect(tables(database)).toEqual(['a', 'b', 'migrations']);
  const copies = readdirSync(dirname(database.file)).filter((name) => name.includes('.bak'));
  expect(copies).toEqual([basename(theirs)]);
});

test('a process that opened the file before another one migrated it runs no migration again', () => {
  const database = open();
  const late = open(database.file);
  migrateSqlite(database, { ...base, migrations: [one, two] });
  expect(migrateSqlite(late, { ...base, migrations: [one, two] }).ran).toEqual([]);
});

test('a damaged migrations table is reported as database_unusable', () => {
  const database = open();
  migrateSqlite(database, { ...base, migrations: [one, two] });
  const page = Number(
    database.raw.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'migrations'").pluck().get(),
  );
  database.close();
  const bytes = readFileSync(database.file);
  writeFileSync(database.file, bytes.fill(0, (page - 1) * 4096, page * 4096));
  expect(() => appliedMigrations(open(database.file))).toThrow(
    expect.objectContaining({ code: 'database_unusable' }),
  );
});

test('nothing is migrated while a process of an earlier version uses the file, even between two ticks', () => {
  const database = open();
  const leases = step(1, 'CREATE TABLE leases (holder TEXT, expires_at TEXT)');
  const migrations = [leases, two];
  migrateSqlite(database, { ...base, migrations: [leases] });
  const held = database.raw.prepare('INSERT INTO leases VALUES (?, ?)');
  held.run(processName(), '2026-01-01T00:00:00.000Z');
  expect(() => migrateSqlite(database, { ...base, migrations })).toThrow(
    `mirror.db has to be migrated, and an earlier version of rosterd (process ${process.pid}) still uses it`,
  );
  expect(tables(database)).toEqual(['leases', 'migrations']);
  expect(readdirSync(dirname(database.file)).filter((name) => name.includes('.bak'))).toEqual([]);
  expect(migrateSqlite(database, { ...base, migrations, dryRun: true }).ran).toEqual(['0002_step2']);

  // One that ended, one of another machine, and this process itself.
  database.raw.exec('DELETE FROM leases');
  const [host, , space] = processName().split(':');
  for (const holder of [`${host}:2147483647:${space}:a`, 'elsewhere:1:2.3:a', `${processName()}:a`])
    held.run(holder, '2126-01-01T00:00:00.000Z');
  expect(migrateSqlite(database, { ...base, migrations }).ran).toEqual(['0002_step2']);
});
