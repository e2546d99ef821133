import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { Fault } from '../../../../src/domain/fault.js';
import { processSpace } from '../../../../src/runtime/process-identity.js';
import type { RestoreHooks, RestoreParts } from '../../../../src/store/backup/made.js';
import { backUpSqlite } from '../../../../src/store/dialect/sqlite/backup.js';
import { openSqlite } from '../../../../src/store/dialect/sqlite/open.js';
import { restoreSqlite } from '../../../../src/store/dialect/sqlite/restore.js';
import { mayWriteUpTo } from '../../../support/file-size-limit.js';
import { freshMirror, StandingClock, seedSource } from '../../support/mirror.js';

const clock = new StandingClock();
const { signal } = new AbortController();
const parts: RestoreParts = {
  ...{ clock, version: '0', env: {}, signal, force: true, leaseMs: 30_000 },
  identity: 'keep',
};
const hooks: RestoreHooks = { remember: () => [], prepare: async () => {} };

/** A backup, and a mirror beside it whose pages are damaged. */
async function damaged() {
  const mirror = freshMirror();
  seedSource(mirror, 1);
  const folder = dirname(mirror.file);
  const [backup, target] = [join(folder, 'copy.db'), join(folder, 'damaged.db')];
  await backUpSqlite(mirror.file, backup, { clock, version: '0', env: {}, signal });
  copyFileSync(backup, target);
  const bytes = readFileSync(target);
  bytes.fill(0x55, 100, 40_960);
  writeFileSync(target, bytes);
  writeFileSync(`${target}-wal`, 'the log of the damaged file');
  return { folder, backup, target, bytes };
}

test('restore keeps a damaged mirror and its log beside the restored one', async () => {
  const { backup, target, bytes } = await damaged();
  const { moved_aside: aside } = await restoreSqlite(backup, target, parts, hooks);
  expect(aside).toMatch(/damaged\.db\.damaged-\d{8}T\d{6}Z$/);
  expect(readFileSync(String(aside)).equals(bytes)).toBe(true);
  expect(readFileSync(`${aside}-wal`, 'utf8')).toBe('the log of the damaged file');
  const restored = openSqlite(target);
  expect(restored.raw.prepare('SELECT name FROM sources').pluck().all()).toEqual(['source1']);
  restored.close();
});

test('restore that fails beside a damaged mirror leaves the damaged file and its log where they were', async () => {
  const { backup, target, bytes } = await damaged();
  const aside = `${target}.damaged-20261020T120000Z`;
  // The log cannot be moved to where a folder is.
  mkdirSync(`${aside}-wal`);
  await expect(restoreSqlite(backup, target, parts, hooks)).rejects.toThrow(/EISDIR|EPERM|ENOTEMPTY/);
  expect(existsSync(target) && readFileSync(target).equals(bytes)).toBe(true);
  expect(readFileSync(`${target}-wal`, 'utf8')).toBe('the log of the damaged file');
  expect(existsSync(aside)).toBe(false);
});

test('a program that still has the replaced file open refuses it, but not after a restore that failed', async () => {
  const { backup, target } = await damaged();
  copyFileSync(backup, target);
  const other = new Sqlite(target);
  onTestFinished(() => void other.close());
  const schemaOfOther = () => other.pragma('user_version', { simple: true });
  const prepare = async () => {
    throw new Error('the migration failed');
  };
  await expect(restoreSqlite(backup, target, parts, { ...hooks, prepare })).rejects.toThrow();
  const before = schemaOfOther();
  const { schema } = await restoreSqlite(backup, target, parts, hooks);
  expect([before, schemaOfOther()]).toEqual([schema, 2_147_483_647]);
});

test('restore that fails while it prepares the copy leaves no copy and no backup of it', async () => {
  const { folder, backup, target } = await damaged();
  const prepare = async (file: string | null) => {
    writeFileSync(`${file}.schema-0001.bak`, 'names');
    throw new Error('the migration failed');
  };
  await expect(restoreSqlite(backup, target, parts, { ...hooks, prepare })).rejects.toThrow(
    /migration failed/,
  );
  expect(readdirSync(folder).filter((name) => /^\.|\.bak$/.test(name))).toEqual([]);
});

test('restore on a full disk names the mirror and not its copy, and says that nothing was replaced', async () => {
  const { backup, target, bytes } = await damaged();
  const prepare = async (file: string | null) => {
    throw new Fault('database_full', `no room left to write ${file}`);
  };
  await expect(restoreSqlite(backup, target, parts, { ...hooks, prepare })).rejects.toMatchObject({
    code: 'database_full',
    message: `no room left to write ${target}`,
    about: { hint: expect.stringContaining('nothing was replaced') },
  });
  expect(readFileSync(target).equals(bytes)).toBe(true);
});

test.skipIf(process.platform === 'win32')(
  'a backup whose file cannot be written names that file, not the mirror, which is only read',
  async () => {
    const mirror = freshMirror();
    // The name of the unfinished backup fits into a folder, that of its journal does not.
    const added = `..${process.pid}-${processSpace()}.tmp`.length;
    const target = join(dirname(mirror.file), 'x'.repeat(251 - added));
    await expect(
      backUpSqlite(mirror.file, target, { clock, version: '0', env: {}, signal }),
    ).rejects.toMatchObject({ message: `${target} cannot be read or written (SQLITE_CANTOPEN)` });
  },
);

test('restore to a new file leaves a mirror alone that a daemon created there meanwhile', async () => {
  const { folder, backup } = await damaged();
  const target = join(folder, 'new.db');
  const prepare = async () => {
    copyFileSync(backup, target);
    writeFileSync(`${target}-wal`, 'accepted webhooks');
  };
  await expect(restoreSqlite(backup, target, parts, { ...hooks, prepare })).rejects.toMatchObject({
    code: 'lease_lost',
    message: `another process created ${target} meanwhile`,
  });
  expect(readFileSync(target).equals(readFileSync(backup))).toBe(true);
  expect(readFileSync(`${target}-wal`, 'utf8')).toBe('accepted webhooks');
});

test('a mirror that the system cannot read is kept beside the restored one, like a damaged one', async () => {
  const { backup, target } = await damaged();
  copyFileSync(backup, target);
  const lifting = new (class extends StandingClock {
    override now() {
      mayWriteUpTo('unlimited');
      return super.now();
    }
  })();
  // SQLite cannot make the index of the log, which is an I/O error like one of a broken disk.
  if (!mayWriteUpTo(1)) return;
  const restored = restoreSqlite(backup, target, { ...parts, clock: lifting }, hooks);
  const { moved_aside: aside } = await restored.finally(() => mayWriteUpTo('unlimited'));
  expect(readFileSync(String(aside)).equals(readFileSync(backup))).toBe(true);
});
