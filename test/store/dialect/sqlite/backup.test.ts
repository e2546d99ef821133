import { fstatSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { BackupParts } from '../../../../src/store/backup/made.js';
import { backUpSqlite } from '../../../../src/store/dialect/sqlite/backup.js';
import { SqliteErasures } from '../../../../src/store/dialect/sqlite/erasures.js';
import { migratedDatabase } from '../../mirror-fixture.js';
import { StandingClock } from '../../support/mirror.js';
import { churned, word } from './churned.js';

const parts: BackupParts = {
  ...{ clock: new StandingClock(), version: '0', env: {} },
  signal: new AbortController().signal,
};

test('the disk has each part of a backup before the next one is copied, so that commits never wait for all of it', async () => {
  const { file, raw } = migratedDatabase();
  // Free pages are copied, too.
  raw.exec('CREATE TABLE large (bytes); INSERT INTO large VALUES (zeroblob(32000000)); DROP TABLE large');
  const target = join(dirname(file), 'backup.db');
  const sizes = [0];
  await backUpSqlite(file, target, {
    ...parts,
    datasync: (descriptor) => void sizes.push(fstatSync(descriptor).size),
  });
  const steps = sizes.slice(1).map((size, at) => (size - (sizes[at] ?? 0)) / 1_048_576);
  // SQLite keeps the last 16 MB to itself until the end.
  expect(sizes.at(-1)).toBeGreaterThan(4_000_000);
  expect(Math.max(...steps)).toBeLessThan(9);

  const broken = backUpSqlite(file, join(dirname(file), 'broken.db'), {
    ...parts,
    datasync: () => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    },
  });
  await expect(broken).rejects.toMatchObject({
    code: 'database_busy',
    message: expect.stringMatching(/broken\.db cannot be written \(EIO\)$/),
  });
  expect(readdirSync(dirname(file)).filter((name) => name.includes('broken'))).toEqual([]);
});

test('a backup has no bytes of erased people, and is not written a second time for that', async () => {
  const database = migratedDatabase();
  const { rows, there } = churned(database);
  const id = database.raw.prepare('SELECT investor_id FROM investments').pluck().get();
  new SqliteErasures(database, new StandingClock()).forget(id as never);
  const target = join(dirname(database.file), 'backup.db');
  await backUpSqlite(database.file, target, parts);
  const bytes = readFileSync(target);
  expect(rows.filter((row) => !there.has(row) && bytes.includes(word(row)))).toEqual([]);
  const copy = new Sqlite(target, { readonly: true });
  onTestFinished(() => void copy.close());
  expect(copy.prepare('SELECT count(*) FROM erasures WHERE scrubbed_at IS NULL').pluck().get()).toBe(0);
  // VACUUM, which writes everything twice more, leaves no free page.
  expect(copy.pragma('freelist_count', { simple: true })).toBeGreaterThan(0);
});
