import { basename, dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { isSameFile } from '../runtime/same-file.js';
import type { DatabaseLocation } from './database-location.js';
import { dialectFor } from './dialect/dialect-for.js';
import { inspectFile } from './dialect/sqlite/file.js';

/** Throws `usage` when `target` is the database file of the mirror, or one of the files that SQLite keeps beside it. */
export function refuseOwnFile(location: DatabaseLocation, target: string): void {
  const { file } = dialectFor(location);
  if (file === null) return;
  const own = ['', '-wal', '-shm', '-journal'].map((end) => `${file}${end}`);
  if (own.some((one) => one === target || isSameFile(one, target)) || isBeside(file, target))
    throw new Fault('usage', `${target} is the mirror itself`, { hint: 'Name another file.' });
}

/** What rosterd keeps beside the file while it works: stored deliveries, addresses of daemons, a lock of the demo. */
const besideShape = /^(?:-(?:unreadable-)?deliveries-.+|\.daemon-.+|\.demo\.lock)$/;

function isBeside(file: string, target: string): boolean {
  const isHere = isSameFile(dirname(file), dirname(target));
  return (
    isHere &&
    basename(target).startsWith(basename(file)) &&
    besideShape.test(basename(target).slice(basename(file).length))
  );
}

/** Throws `usage` when `target` is the database file of any mirror, for a configuration that cannot say which one is used. */
export function refuseAnyMirror(target: string): void {
  let found: ReturnType<typeof inspectFile>;
  try {
    found = inspectFile(target);
  } catch {
    // Whatever else is there.
    return;
  }
  if (found === 'ours') throw new Fault('usage', `${target} is a mirror`, { hint: 'Name another file.' });
}
