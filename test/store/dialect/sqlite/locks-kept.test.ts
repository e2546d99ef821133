import { closeSync, copyFileSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../../../src/runtime/package-root.js';
import { openSqlite } from '../../../../src/store/dialect/sqlite/open.js';
import { readApart } from '../../../support/read-apart.js';
import { freshMirror } from '../../support/mirror.js';

/** The lines of the kernel about this process's locks on the file. */
const locksOn = (file: string) =>
  readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .filter((line) => line.includes(` ${process.pid} `) && line.includes(`:${statSync(file).ino} `));

test.runIf(existsSync('/proc/locks'))(
  'opening and closing another connection keeps the file locks of the first one',
  () => {
    const mirror = freshMirror();
    const locks = () => locksOn(mirror.file);
    const before = locks();
    expect(before).toHaveLength(1);
    const accepting = openSqlite(mirror.file, { busyTimeoutMs: 500 });
    onTestFinished(() => accepting.close());
    openSqlite(mirror.file, { readonly: true }).close();
    expect(locks()).toHaveLength(1);
  },
);

test.runIf(existsSync('/proc/locks'))(
  'tests: reading the files of a database that is open in the same process is an error',
  async () => {
    const { file } = freshMirror();
    for (const name of [file, `${file}-shm`]) {
      expect(() => readFileSync(name)).toThrow('is open in this process');
      expect(() => closeSync(openSync(name, 'r'))).toThrow('is open in this process');
      expect(() => copyFileSync(name, `${file}.copy`)).toThrow('is open in this process');
      await expect(async () => await readFile(name)).rejects.toThrow('is open in this process');
      expect(readApart(name).length).toBeGreaterThan(4_000);
      expect(locksOn(name).length).toBeGreaterThan(0);
    }
  },
);

test('tests: a file is read as it is, whether it is open in the same process or not', () => {
  const { file, raw } = freshMirror();
  raw.exec("INSERT INTO forgotten (id, forgotten_at) VALUES ('usr_CANARY', 'now')");
  expect(readApart(`${file}-wal`).includes('usr_CANARY')).toBe(true);
  raw.pragma('wal_checkpoint(TRUNCATE)');
  expect(readApart(`${file}-wal`)).toHaveLength(0);
  expect(readApart(file).includes('usr_CANARY')).toBe(true);
  const closed = join(packageRoot, 'package.json');
  expect(readApart(closed).equals(readFileSync(closed))).toBe(true);
});
