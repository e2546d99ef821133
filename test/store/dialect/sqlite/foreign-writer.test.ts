import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite } from '../../../../src/store/dialect/sqlite/open.js';
import { freshMirror } from '../../support/mirror.js';

/** Another program that opens the file to write, touches it and goes, as a database browser does. */
async function visit(file: string): Promise<void> {
  const script = `const Sqlite = require('better-sqlite3');
    const db = new Sqlite(${JSON.stringify(file)}, { timeout: 5000 });
    db.exec('BEGIN IMMEDIATE; ROLLBACK'); db.close();`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
}

test('a program that opens and closes the file beside us does not take the log from under us', async () => {
  const mirror = freshMirror();
  // As the daemon holds it: a writer, a second connection for webhooks, and readers that come and go.
  const accepting = openSqlite(mirror.file, { busyTimeoutMs: 500 });
  onTestFinished(() => accepting.close());
  openSqlite(mirror.file, { readonly: true }).close();
  mirror.raw.exec('CREATE TABLE probe (n INTEGER)');
  const log = statSync(`${mirror.file}-wal`).ino;

  await visit(mirror.file);

  expect(statSync(`${mirror.file}-wal`).ino).toBe(log);
  accepting.raw.exec('INSERT INTO probe VALUES (1)');
  mirror.raw.exec('INSERT INTO probe VALUES (2)');
  const reader = openSqlite(mirror.file, { readonly: true });
  onTestFinished(() => reader.close());
  expect(reader.raw.prepare('SELECT n FROM probe ORDER BY n').pluck().all()).toEqual([1, 2]);
});

test.runIf(existsSync('/proc/locks'))(
  'a further connection leaves the locks of the first ones in force',
  () => {
    const mirror = freshMirror();
    const locks = () =>
      readFileSync('/proc/locks', 'utf8')
        .split('\n')
        .filter(
          (line) => line.includes(` ${process.pid} `) && line.includes(`:${statSync(mirror.file).ino} `),
        );
    const before = locks();
    expect(before).toHaveLength(1);
    const accepting = openSqlite(mirror.file, { busyTimeoutMs: 500 });
    onTestFinished(() => accepting.close());
    openSqlite(mirror.file, { readonly: true }).close();
    expect(locks()).toHaveLength(1);
  },
);
