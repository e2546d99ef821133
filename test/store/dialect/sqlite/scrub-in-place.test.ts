import { openSync, readFileSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { type Random, seededRandom } from '../../../../src/runtime/random.js';
import { SqliteErasures } from '../../../../src/store/dialect/sqlite/erasures.js';
import { openSqlite, type SqliteDatabase } from '../../../../src/store/dialect/sqlite/open.js';
import { overwriteUnused } from '../../../../src/store/dialect/sqlite/overwrite-unused.js';
import { PageFile, Unwalkable } from '../../../../src/store/dialect/sqlite/page-file.js';
import { readTreePage } from '../../../../src/store/dialect/sqlite/page-layout.js';
import { scrubInPlace } from '../../../../src/store/dialect/sqlite/scrub.js';
import { readApart } from '../../../support/read-apart.js';
import { migratedDatabase } from '../../mirror-fixture.js';
import { StandingClock } from '../../support/mirror.js';
import { tempFolder } from '../../temp-folder.js';
import { churned, word } from './churned.js';

/** Returns a function that says whether a text is in the files as they are now. */
function inFilesOf(file: string): (text: string) => boolean {
  const contents = ['', '-wal'].map((ending) => readApart(`${file}${ending}`));
  return (text) => contents.some((content) => content.includes(text));
}

function deletedIn(file: string, { rows, there }: ReturnType<typeof churned>): readonly number[] {
  const inFiles = inFilesOf(file);
  return rows.filter((row) => !there.has(row) && inFiles(word(row)));
}

const below = (random: Random, bound: number) => Math.floor(random.fraction() * bound);

function emptied({ raw }: SqliteDatabase): boolean {
  const [result] = raw.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  return result?.busy === 0;
}

/** The connections of the process that scrubs. Its descriptor stays open, as closing it drops the locks of this process. */
function scrubber(file: string) {
  const database = openSqlite(file);
  const second = openSqlite(file);
  onTestFinished(() => {
    second.close();
    database.close();
  });
  const parts = { descriptor: openSync(file, 'r+'), second: second.raw };
  return {
    overwrite: (onPass: () => void, onEmptied: () => void = () => {}) =>
      overwriteUnused(database, {
        ...parts,
        emptyLog: async () => {
          const isEmpty = emptied(database);
          onEmptied();
          return isEmpty;
        },
        onPass,
      }),
    scrub: (patience = () => async () => false) =>
      scrubInPlace(database, new StandingClock(), { ...parts, rewritten: 0, patience }),
  };
}

const sound = (database: SqliteDatabase) => database.raw.pragma('integrity_check', { simple: true });

const contents = (database: SqliteDatabase) =>
  database.raw.prepare('SELECT * FROM identity_rows ORDER BY row_no').all();

test('a scrub in place removes the bytes that secure_delete leaves in the gaps of pages, and nothing else', async () => {
  const database = migratedDatabase();
  const people = churned(database);
  const before = contents(database);
  emptied(database);
  expect(deletedIn(database.file, people).length).toBeGreaterThan(0);
  const { size } = statSync(database.file);
  expect(await scrubber(database.file).scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
  expect(deletedIn(database.file, people)).toEqual([]);
  expect(contents(database)).toEqual(before);
  expect(sound(database)).toBe('ok');
  expect(statSync(database.file).size).toBe(size);
  expect(await scrubber(database.file).scrub()).toEqual({ kind: 'clean' });
});

test('pages that another connection had in its cache are overwritten again after it has written them back', async () => {
  const database = migratedDatabase();
  const people = churned(database);
  emptied(database);
  const before = contents(database).length;
  let passes = 0;
  const write = () => {
    passes += 1;
    if (passes === 1) database.raw.exec('UPDATE identity_rows SET bio = upper(bio)');
  };
  // Before the first pass, all pages are in the cache of this connection.
  const done = await scrubber(database.file).overwrite(write, () => void contents(database));
  expect(done).toBe(true);
  emptied(database);
  expect(deletedIn(database.file, people)).toEqual([]);
  expect(passes).toBe(2);
  expect(contents(database)).toHaveLength(before);
  expect(sound(database)).toBe('ok');
});

test('writers and checkpoints go on during the first pass, and only the last pass keeps writers waiting', async () => {
  const database = migratedDatabase();
  churned(database);
  const writer = openSqlite(database.file, { busyTimeoutMs: 0 });
  onTestFinished(() => writer.close());
  const seen: unknown[] = [];
  let passes = 0;
  let emptyings = 0;
  const onEmptied = () => {
    emptyings += 1;
    // While the log has a commit, a checkpoint may write to the file, so nothing is overwritten in it.
    if (emptyings === 1) writer.raw.exec("INSERT INTO forgotten (id, forgotten_at) VALUES ('usr_0', 'now')");
  };
  await scrubber(database.file).overwrite(() => {
    passes += 1;
    const main = readApart(database.file);
    try {
      writer.raw.exec(`INSERT INTO forgotten (id, forgotten_at) VALUES ('usr_${passes}', 'now')`);
      writer.raw.pragma('wal_checkpoint(PASSIVE)');
      seen.push('written');
    } catch (error) {
      seen.push((error as { code?: string }).code);
    }
    // A checkpoint that wrote to the file could be overwritten, or overwrite.
    expect(readApart(database.file).equals(main)).toBe(true);
  }, onEmptied);
  expect([emptyings, passes]).toEqual([3, 2]);
  expect(seen).toEqual(['written', 'SQLITE_BUSY']);
  expect(database.raw.prepare('SELECT id FROM forgotten').pluck().all()).toEqual(['usr_0', 'usr_1']);
});

test('a reader that keeps the log from being emptied blocks the scrub, and no writer', async () => {
  const database = migratedDatabase();
  const people = churned(database);
  const reader = openSqlite(database.file, { readonly: true });
  reader.raw.exec('BEGIN');
  reader.raw.prepare('SELECT count(*) FROM identity_rows').get();
  new SqliteErasures(database, new StandingClock()).forget('inv_1' as never);
  const writer = openSqlite(database.file, { busyTimeoutMs: 0 });
  const here = scrubber(database.file);
  let pauses = 0;
  const blocked = await here.scrub(() => async () => {
    writer.raw.exec('UPDATE sources SET generation = generation + 1');
    pauses += 1;
    return pauses < 3;
  });
  expect(blocked).toMatchObject({ kind: 'blocked', erasures: 2 });
  expect(pauses).toBe(3);
  reader.raw.exec('COMMIT');
  reader.close();
  writer.close();
  expect(await here.scrub()).toEqual({ kind: 'scrubbed', erasures: 2 });
  people.there.delete(people.rows[1] ?? 0);
  expect(deletedIn(database.file, people)).toEqual([]);
});

test('readers are waited for anew each time the log is emptied, as a pass over the file may take long', async () => {
  const database = migratedDatabase();
  churned(database);
  const reader = openSqlite(database.file, { readonly: true });
  onTestFinished(() => reader.close());
  const waits: number[] = [];
  const scrubbed = await scrubber(database.file).scrub(() => {
    database.raw.exec('UPDATE sources SET generation = generation + 1');
    reader.raw.exec('BEGIN');
    reader.raw.prepare('SELECT count(*) FROM identity_rows').get();
    const wait = waits.push(0) - 1;
    return async () => {
      waits[wait] = (waits[wait] ?? 0) + 1;
      if (waits[wait] === 2) reader.raw.exec('COMMIT');
      return waits[wait] < 3;
    };
  });
  expect(scrubbed).toMatchObject({ kind: 'scrubbed' });
  // Before the first pass, before the last one, and at the end.
  expect(waits).toEqual([2, 2, 2]);
});

test('a disk that refuses the zeros is reported with the file and the reason, and the erasure stays pending', async () => {
  const database = migratedDatabase();
  churned(database);
  const second = openSqlite(database.file);
  onTestFinished(() => second.close());
  const parts = { descriptor: openSync(database.file, 'r'), second: second.raw, rewritten: 0 };
  const scrubbed = scrubInPlace(database, new StandingClock(), {
    ...parts,
    patience: () => async () => false,
  });
  await expect(scrubbed).rejects.toMatchObject({
    code: 'usage',
    message: `${database.file} cannot be written (EBADF)`,
  });
  expect(await scrubber(database.file).scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
});

test('a file that is mostly unused is left to VACUUM, which returns the space', async () => {
  const database = migratedDatabase();
  churned(database);
  const blob = database.raw.prepare('INSERT INTO forgotten (id, forgotten_at) VALUES (?, ?)');
  for (let n = 0; n < 50; n += 1) blob.run(`usr_${n}`, 'x'.repeat(50_000));
  database.raw.exec('DELETE FROM forgotten');
  expect(await scrubber(database.file).scrub()).toBeNull();
});

/** A file that rosterd did not make: every kind of page, in pages of this size. */
function manyKinds(pageSize: number, random: Random): string {
  const file = join(tempFolder(), 'many-kinds.db');
  const db = new Sqlite(file);
  db.pragma(`page_size = ${pageSize}`);
  db.pragma('secure_delete = OFF');
  db.pragma('synchronous = OFF');
  db.exec(`CREATE TABLE a (n INTEGER PRIMARY KEY, t, b); CREATE INDEX a_t ON a (t, b);
    CREATE TABLE w (k TEXT, v, PRIMARY KEY (k, v)) WITHOUT ROWID; CREATE TABLE gone (t)`);
  const text = () => 'CANARY'.repeat(below(random, random.fraction() < 0.1 ? pageSize : 30));
  const putA = db.prepare('INSERT OR REPLACE INTO a VALUES (?, ?, ?)');
  const putW = db.prepare('INSERT OR REPLACE INTO w VALUES (?, ?)');
  db.exec('BEGIN');
  for (let n = 0; n < 300; n += 1) {
    putA.run(below(random, 400) * 2 ** below(random, 40), text(), null);
    putW.run(`${below(random, 300)}${text()}`, n);
    if (n % 3 === 0) db.prepare('DELETE FROM w WHERE v = ?').run(below(random, n + 1));
    if (n % 5 === 0) db.prepare('UPDATE a SET b = t WHERE n % 7 = ?').run(n % 7);
    if (n % 50 === 0) db.prepare('INSERT INTO gone VALUES (?)').run('CANARY'.repeat(pageSize));
  }
  // Values that just fit into a cell, and that just do not.
  for (let more = 0; more < 50; more += 1) {
    putA.run(-more, 'c'.repeat(pageSize - 60 + more), null);
    putW.run('c'.repeat(Math.floor(pageSize / 4) - 50 + more), -more);
  }
  db.exec('DELETE FROM gone');
  db.exec('COMMIT');
  db.close();
  return file;
}

const allRows = (db: Sqlite.Database) =>
  ['a', 'w'].map((table) => db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all());

test('overwriting unused bytes leaves every kind of page readable, whatever the size of pages', () => {
  const random = seededRandom(11);
  for (const pageSize of [512, 1_024, 4_096, 65_536]) {
    const file = manyKinds(pageSize, random);
    const db = new Sqlite(file, { readonly: true });
    onTestFinished(() => void db.close());
    const roots = db
      .prepare('SELECT rootpage FROM sqlite_schema WHERE rootpage > 1')
      .pluck()
      .all() as number[];
    const before = allRows(db);
    const bytes = readFileSync(file);
    new PageFile(openSync(file, 'r+')).overwriteAll(roots);
    expect(readFileSync(file).equals(bytes), `pages of ${pageSize}`).toBe(false);
    const again = new Sqlite(file, { readonly: true });
    onTestFinished(() => void again.close());
    expect(again.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(allRows(again)).toEqual(before);
  }
});

test('the disk has overwritten pages soon, so that the commits of others never wait for many of them', () => {
  const file = manyKinds(512, seededRandom(14));
  const db = new Sqlite(file, { readonly: true });
  const roots = db.prepare('SELECT rootpage FROM sqlite_schema WHERE rootpage > 1').pluck().all() as number[];
  db.close();
  let synced = readFileSync(file);
  const pages: number[] = [];
  const page = new PageFile(openSync(file, 'r+'), () => {
    const now = readFileSync(file);
    const isChanged = (at: number) => !now.subarray(at, at + 512).equals(synced.subarray(at, at + 512));
    pages.push(Array.from({ length: now.length / 512 }, (_, n) => n * 512).filter(isChanged).length);
    synced = now;
  });
  page.overwriteAll(roots);
  page.sync();
  expect(pages.length).toBeGreaterThan(1);
  expect(Math.max(...pages)).toBeLessThanOrEqual(256);
});

test('a file that is damaged or has pages of other kinds is not overwritten', () => {
  const file = manyKinds(1_024, seededRandom(12));
  const pages = new PageFile(openSync(file, 'r+'));
  const schema = new Sqlite(file, { readonly: true });
  const roots = schema
    .prepare('SELECT rootpage FROM sqlite_schema WHERE rootpage > 1')
    .pluck()
    .all() as number[];
  schema.close();
  expect(() => pages.overwriteAll([...roots, roots[0] ?? 0]), 'a page twice').toThrow(Unwalkable);
  expect(() => pages.overwriteAll(roots.slice(1)), 'pages of no tree').toThrow(Unwalkable);
  writeSync(openSync(file, 'r+'), Buffer.alloc(1_024), 0, 1_024, ((roots[0] ?? 0) - 1) * 1_024);
  expect(() => pages.overwriteAll(roots), 'a root that is no page of a tree').toThrow(Unwalkable);
  truncateSync(file, 99);
  expect(() => new PageFile(openSync(file, 'r+')), 'half a header').toThrow(Unwalkable);

  const vacuumed = join(tempFolder(), 'vacuumed.db');
  const db = new Sqlite(vacuumed);
  db.pragma('auto_vacuum = FULL');
  db.exec('CREATE TABLE a (t)');
  db.close();
  expect(() => new PageFile(openSync(vacuumed, 'r+'))).toThrow(Unwalkable);
});

test('a page whose bytes do not add up is not taken for a page of a tree', () => {
  const file = manyKinds(1_024, seededRandom(13));
  const layout = { pageSize: 1_024, usable: 1_024 };
  const bytes = readFileSync(file);
  const pages = Array.from({ length: bytes.length / 1_024 }, (_, n) => n + 1).filter(
    (no) => no > 1 && cellsOf(pageOf(bytes, no)) > 0 && readTreePage(pageOf(bytes, no), no, layout) !== null,
  );
  expect(pages.length).toBeGreaterThan(50);
  for (const no of pages) {
    for (const [damage, harm] of Object.entries(damages)) {
      const page = Buffer.from(pageOf(bytes, no));
      harm(page);
      expect(readTreePage(page, no, layout), `page ${no} with ${damage}`).toBeNull();
    }
  }
});

const pointersOf = (page: Buffer) => (page.readUInt8(0) > 8 ? 8 : 12);
const damages: Readonly<Record<string, (page: Buffer) => void>> = {
  'a cell less': (page) => page.writeUInt16BE(cellsOf(page) - 1, 3),
  'another kind': (page) => page.writeUInt8(7, 0),
  'a free block in the header': (page) => page.writeUInt16BE(1, 1),
  'a free block behind the page': (page) => page.writeUInt16BE(1_022, 1),
  'cells behind the page': (page) => page.writeUInt16BE(1_030, 5),
  'a cell in the header': (page) => page.writeUInt16BE(1, pointersOf(page)),
  'a cell behind the page': (page) => page.writeUInt16BE(1_022, pointersOf(page)),
};

const pageOf = (bytes: Buffer, no: number) => bytes.subarray((no - 1) * 1_024, no * 1_024);
const cellsOf = (page: Buffer) => page.readUInt16BE(3);
