import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { instantFromMillis } from '../../src/domain/instant.js';
import { madeBy, scheduledBackups, scheduledName } from '../../src/store/backup/file-names.js';
import { tempFolder } from './temp-folder.js';

const names = { stem: 'mirror', end: '.db' };
const now = Date.parse('2026-11-23T11:45:00Z');

test('the scheduled backups of a mirror are its own files with a time, newest first', () => {
  const folder = tempFolder();
  const days = [2, 5, 1, 4, 3].map((day) => scheduledName(names, now - day * 86_400_000));
  const others = [
    scheduledName({ ...names, stem: 'other' }, now),
    scheduledName({ ...names, end: '.pgbackup' }, now),
    'mirror-20261399T000000Z.db',
    'mirror.db',
  ];
  for (const name of [...days, ...others]) writeFileSync(join(folder, name), name);
  mkdirSync(join(folder, scheduledName(names, now)));
  const found = scheduledBackups(folder, names);
  expect(found.map(({ file }) => file)).toEqual(
    days
      .toSorted()
      .reverse()
      .map((name) => join(folder, name)),
  );
  expect(found[0]).toMatchObject({ made_at: instantFromMillis(now - 86_400_000), bytes: 26 });
  expect(scheduledBackups(join(folder, 'nowhere'), names)).toEqual([]);
});

test('a backup that is dated more than a minute ahead was named by a wrong clock', () => {
  const made = [60_001, 60_000, 0].map((ahead) => ({ made_at: instantFromMillis(now + ahead) }));
  expect(madeBy(made, now)).toEqual(made.slice(1));
});
