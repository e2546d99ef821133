import { chownSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { nobody } from '../postgres/binaries.js';
import { migratedDatabase as migratedOnServer, postgresUrl } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { mayWriteUpTo } from '../support/file-size-limit.js';
import { noSmallDisk, openSmallDisk } from '../support/small-disk.js';
import { freshStore, migratedDatabase, mirrorFixture, rowsOf } from './mirror-fixture.js';
import { record } from './samples.js';

const items = Array.from({ length: 100 }, (_, n) => record(`inv_${n}`, { blockers: 'x'.repeat(2_000) }));
const held = 'SELECT state, rows_held, (SELECT count(*) FROM changes) AS changes FROM sources';
const before = [{ state: 'sweeping', rows_held: 1, changes: 1 }];

test('a full disk fails with `database_full` and applies nothing of the page; the page succeeds once there is room', async () => {
  const { database: sqlite, fill, makeRoom } = diskOfFile();
  const { list, delta, database, rows } = await mirrorFixture({ database: sqlite });
  await list([[record('inv_1')]]);
  fill();
  await expect(delta(items, 'c2')).rejects.toMatchObject({ code: 'database_full' });
  expect(await rows(held)).toEqual(before);
  makeRoom();
  await expect(delta(items, 'c2')).resolves.toMatchObject({ added: 99, changed: 1 });
  expect(database.raw.pragma('integrity_check', { simple: true })).toBe('ok');
});

test('a disk that runs full where the index of the log grows is full too: SQLite reports it as an I/O error', async () => {
  const disk = openSmallDisk(24);
  if (disk === null) return void process.stderr.write(`${noSmallDisk}\n`);
  onTestFinished(disk.close);
  const sqlite = migratedDatabase(join(disk.folder, 'mirror.db'));
  const { list, delta, database } = await mirrorFixture({ database: sqlite });
  await list([[record('inv_1')]]);
  sqlite.raw.pragma('wal_autocheckpoint = 0');
  // The first part of the index is for 4,062 pages. The page of a hundred records goes beyond it.
  sqlite.raw.exec('CREATE TABLE filler (bytes BLOB)');
  while (statSync(`${sqlite.file}-wal`).size < 4_000 * 4_120)
    sqlite.raw.exec('INSERT INTO filler VALUES (zeroblob(400000)); DELETE FROM filler');
  const faults: unknown[] = [];
  for (let isApplied = false; !isApplied; ) {
    // What a failed commit wrote to the log stays there, so each one comes a little further.
    disk.leave(24_576);
    isApplied = await delta(items, 'c2').then(
      () => true,
      (fault: { readonly code: unknown }) => !faults.push(fault.code),
    );
  }
  expect(statSync(`${sqlite.file}-shm`).size).toBe(65_536);
  expect(new Set(faults)).toEqual(new Set(['database_full']));
  expect(database.raw.pragma('integrity_check', { simple: true })).toBe('ok');
});

test('a write that the system refuses for another reason, such as a quota, is retried and goes on by itself', async () => {
  const { list, delta, database, rows } = await mirrorFixture({ database: migratedDatabase() });
  await list([[record('inv_1')]]);
  if (!mayWriteUpTo(statSync(`${database.file}-wal`).size + 20_000)) return;
  await expect(delta(items, 'c2').finally(() => mayWriteUpTo('unlimited'))).rejects.toMatchObject({
    ...{ code: 'database_busy', about: { lasting: true } },
    message: expect.stringMatching(
      /mirror\.db cannot be read or written at the moment \(SQLITE_IOERR_WRITE\)$/,
    ),
  });
  expect(await rows(held)).toEqual(before);
  await expect(delta(items, 'c2')).resolves.toMatchObject({ added: 99, changed: 1 });
  expect(database.raw.pragma('integrity_check', { simple: true })).toBe('ok');
});

test('a page for which SQLite finds no memory is retried: it fails with `database_busy`, applies nothing, and succeeds later', async () => {
  const { list, delta, database, rows } = await mirrorFixture({ database: migratedDatabase() });
  await list([[record('inv_1')]]);
  database.raw.function('no_memory', () => {
    throw new Sqlite.SqliteError('out of memory', 'SQLITE_NOMEM');
  });
  database.raw.exec(
    'CREATE TEMP TRIGGER spent BEFORE INSERT ON investment_rows BEGIN SELECT no_memory(); END',
  );
  await expect(delta(items, 'c2')).rejects.toMatchObject({
    code: 'database_busy',
    message: expect.stringMatching(/mirror\.db cannot be read or written: no memory left \(SQLITE_NOMEM\)$/),
  });
  expect(await rows(held)).toEqual(before);
  database.raw.exec('DROP TRIGGER spent');
  await expect(delta(items, 'c2')).resolves.toMatchObject({ added: 99, changed: 1 });
  expect(database.raw.pragma('integrity_check', { simple: true })).toBe('ok');
});

/** A file system that runs full; where none may be mounted, a file that may not grow. */
function diskOfFile() {
  const disk = openSmallDisk(8);
  if (disk === null) {
    process.stderr.write(`${noSmallDisk}\n`);
    const database = migratedDatabase();
    const limit = (more: number) =>
      database.raw.pragma(
        `max_page_count = ${Number(database.raw.pragma('page_count', { simple: true })) + more}`,
      );
    return { database, fill: () => limit(5), makeRoom: () => limit(10_000) };
  }
  onTestFinished(disk.close);
  const database = migratedDatabase(join(disk.folder, 'mirror.db'));
  return { database, fill: () => disk.leave(20_000), makeRoom: disk.makeRoom };
}

test('a server whose tables have no room left fails with `database_full`; the page succeeds once there is room', async () => {
  // A server that the run did not start may be on another host, or not be allowed into the folder.
  const disk = (process.env.ROSTERD_TEST_POSTGRES ?? '') === '' ? openSmallDisk(64) : null;
  // The tests below raise the error of a full server by a trigger.
  if (disk === null) return void process.stderr.write(`${noSmallDisk}\n`);
  const tables = join(disk.folder, 'tables');
  mkdirSync(tables);
  const server = await postgresUrl();
  const { url, drop } = await migratedOnServer();
  const name = new URL(url).pathname.slice(1);
  const tablespace = `${name}_small`;
  chownSync(tables, nobody, nobody);
  await withClient(server, async (client) => {
    await client.query(`CREATE TABLESPACE "${tablespace}" LOCATION '${tables}'`);
    await client.query(`ALTER DATABASE "${name}" SET TABLESPACE "${tablespace}"`);
  });
  const postgres = await openPostgres(url);
  onTestFinished(async () => {
    await postgres.close();
    await drop();
    await withClient(server, (client) => client.query(`DROP TABLESPACE "${tablespace}"`));
    disk.close();
  });
  const { list, delta, rows } = await mirrorFixture({ store: { kind: 'postgres', postgres } });
  await list([[record('inv_1')]]);
  disk.leave(0);
  await expect(delta(items, 'c2')).rejects.toMatchObject({ code: 'database_full' });
  expect(await rows(held)).toEqual(before);
  disk.makeRoom();
  await expect(delta(items, 'c2')).resolves.toMatchObject({ added: 99, changed: 1 });
});

/** A real disk cannot be full for one table of a page: a trigger raises the server's error there. */
test.each(['investment_rows', 'history_rows', 'change_rows', 'rosterd_identity.identity_rows', 'sources'])(
  'a full server disk while writing %s fails with `database_full`; the page succeeds once there is room',
  async (table) => {
    const store = await freshStore('postgres');
    const { list, delta, rows } = await mirrorFixture({ store });
    await list([[record('inv_1')]]);
    await rowsOf(
      store,
      `CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
       CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON ${table} EXECUTE FUNCTION disk_is_full()`,
    );
    await expect(delta(items, 'c2')).rejects.toMatchObject({ code: 'database_full' });
    expect(await rows(held)).toEqual(before);
    await rowsOf(store, 'DROP FUNCTION disk_is_full CASCADE');
    await expect(delta(items, 'c2')).resolves.toMatchObject({ added: 99, changed: 1 });
    expect(await rows('SELECT count(*) AS count FROM identities')).toEqual([{ count: 100 }]);
  },
);
