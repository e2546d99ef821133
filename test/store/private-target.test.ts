import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { processSpace } from '../../src/runtime/process-identity.js';
import { intoPrivateFile, removeAbandoned } from '../../src/store/backup/private-target.js';
import { removeBackups } from '../../src/store/dialect/sqlite/backups.js';
import { tempFolder } from './temp-folder.js';

const now = Date.parse('2026-11-01T00:00:00Z');
const hour = 3_600_000;

/** The number of a process that has ended. */
const ended = spawnSync(process.execPath, ['-e', '']).pid;
const here = processSpace();
const elsewhere = '4026531000-0123456789ab';

/** Creates files in an empty folder. */
function folderWith(...names: readonly string[]) {
  const folder = tempFolder();
  for (const name of names) {
    writeFileSync(join(folder, name), 'Ann');
    utimesSync(join(folder, name), (now - hour) / 1_000, (now - hour) / 1_000);
  }
  return { folder, names: () => readdirSync(folder).sort() };
}

test('a backup removes what killed backups left unfinished in its folder, and nothing else', async () => {
  const left = [
    `.copy.db.${ended}-${here}.tmp`,
    `.copy.db.${ended}-${here}.tmp-journal`,
    `.copy.db.${process.pid}-${here}.tmp`,
    `.mirror-20261031T220000Z.db.${ended}-${here}.tmp`,
    `.mirror-20261031T220000Z.dump.${ended}-${here}.tmp`,
    `.mirror-20261031T230000Z.db.${process.pid}-${here}.tmp`,
  ];
  const others = [
    `.notes.txt.${ended}-${here}.tmp`,
    `.copy.db.${process.ppid}-${here}.tmp`,
    `.copy.db.${ended}-${elsewhere}.tmp`,
    'copy.db',
  ];
  const { folder, names } = folderWith(...left, ...others);
  mkdirSync(join(folder, 'copy.db.d'));
  const scheduled = join(folder, 'mirror-20261101T000000Z.db');
  await intoPrivateFile(join(folder, 'copy.db'), now, async (unfinished) => {
    writeFileSync(unfinished, 'new');
    writeFileSync(`${unfinished}-wal`, 'its log');
    expect(statSync(unfinished).mode & 0o777).toBe(0o600);
    // Another one in the same process and folder leaves the first alone.
    await intoPrivateFile(scheduled, now, async (other) => {
      await intoPrivateFile(join(folder, 'second.db'), now, async () => {});
      expect(existsSync(other)).toBe(true);
    });
    expect(names()).toHaveLength(others.length + 5);
  });
  expect(names()).toEqual([...others, 'copy.db.d', 'second.db', basename(scheduled)].sort());
  await expect(intoPrivateFile(join(folder, 'copy.db', 'x'), now, async () => {})).rejects.toMatchObject({
    code: 'usage',
    message: `cannot write to ${join(folder, 'copy.db')} (EEXIST)`,
  });
  await expect(intoPrivateFile(join(folder, 'copy.db.d'), now, async () => {})).rejects.toMatchObject({
    code: 'usage',
    message: `${join(folder, 'copy.db.d')} cannot be written (EISDIR)`,
  });
});

test('an unfinished backup of a process that cannot be looked for is removed after a day', async () => {
  const { folder, names } = folderWith(`.copy.db.${ended}-${elsewhere}.tmp`);
  const backUp = (at: number) => intoPrivateFile(join(folder, 'copy.db'), at, async () => {});
  await backUp(now + 22 * hour);
  expect(names()).toEqual([`.copy.db.${ended}-${elsewhere}.tmp`, 'copy.db']);
  await backUp(now + 24 * hour);
  expect(names()).toEqual(['copy.db']);
});

test('the copies that a killed restore left beside the mirror are removed with the backups of the mirror', () => {
  const unfinished = `.mirror.db.${ended}-${here}.tmp`;
  const left = [unfinished, `${unfinished}-wal`, `${unfinished}.schema-0018.bak`];
  const { folder, names } = folderWith('mirror.db', `.other.db.${ended}-${here}.tmp`, ...left);
  const removed = removeBackups(join(folder, 'mirror.db'), Number.NEGATIVE_INFINITY);
  expect([...removed].sort()).toEqual(left.map((name) => join(folder, name)).sort());
  expect(names()).toEqual([`.other.db.${ended}-${here}.tmp`, 'mirror.db']);
});

test('a folder that does not exist has no unfinished backups', () => {
  expect(removeAbandoned(join(tempFolder(), 'none'), () => true, now)).toEqual([]);
});
