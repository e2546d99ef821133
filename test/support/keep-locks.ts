import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/*
 * POSIX locks belong to a process, and closing any descriptor of a file releases those of the whole process. If a test
 * reads the files of a database that is open in its process, SQLite's locks are gone without a word: the next program
 * that opens the database considers itself the first one and truncates the index of the log, which kills the process
 * of the test with SIGBUS; or it considers itself the last one and deletes a log that is in use. So here it is an error
 * of the test. vitest runs this before each file; a process is patched once. Only Linux tells its locks.
 */

const { readFileSync, statSync } = fs;
const later = ['open', 'readFile', 'copyFile'];
const patched = Symbol.for('rosterd tests: locks are kept');
const world = globalThis as { [patched]?: true };

if (world[patched] !== true && fs.existsSync('/proc/locks')) {
  world[patched] = true;
  for (const name of ['readFileSync', 'copyFileSync', 'createReadStream', ...later]) guard(fs as never, name);
  for (const name of later) guard(fs.promises as never, name);
  guardClosing();
  syncBuiltinESMExports();
}

type Opening = (path: unknown, ...rest: unknown[]) => unknown;

function guard(of: Record<string, Opening>, name: string): void {
  const own = of[name];
  if (own === undefined) throw new Error(`node:fs has no ${name}`);
  of[name] = function guarded(this: unknown, path, ...rest) {
    check(path);
    return own.call(this, path, ...rest);
  };
}

/** A descriptor may be opened, and used until the process ends. */
function guardClosing(): void {
  const { openSync, closeSync } = fs;
  const paths = new Map<number, unknown>();
  fs.openSync = (path, ...rest) => {
    const descriptor = openSync(path, ...rest);
    paths.set(descriptor, path);
    return descriptor;
  };
  fs.closeSync = (descriptor) => {
    check(paths.get(descriptor));
    paths.delete(descriptor);
    closeSync(descriptor);
  };
}

function check(path: unknown): void {
  if (typeof path === 'string' && /\.(db|db-shm|bak)$/.test(path) && isLockedHere(path))
    throw new Error(`${path} is open in this process: read it with readApart, or copy it with copyApart`);
}

/** Whether this process has locks on the file. The kernel names a file by device, as two hexadecimal numbers, and inode. */
function isLockedHere(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  const { dev, ino } = stats;
  const device = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  const name = [...device.map((part) => part.toString(16).padStart(2, '0')), ino].join(':');
  return readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .some((line) => line.includes(` ${process.pid} ${name} `));
}
