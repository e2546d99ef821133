import { Fault } from '../domain/fault.js';
import { isSameFile } from './backup/private-target.js';
import type { DatabaseLocation } from './database-location.js';
import { dialectFor } from './dialect/dialect-for.js';
import { inspectFile } from './dialect/sqlite/file.js';

/** Throws `usage` when `target` is the database file of the mirror, or one of the files that SQLite keeps beside it. */
export function refuseOwnFile(location: DatabaseLocation, target: string): void {
  const { file } = dialectFor(location);
  if (file === null) return;
  const own = ['', '-wal', '-shm'].map((end) => `${file}${end}`);
  if (own.some((one) => one === target || isSameFile(one, target)))
    throw new Fault('usage', `${target} is the mirror itself`, { hint: 'Name another file.' });
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
