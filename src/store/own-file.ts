import { Fault } from '../domain/fault.js';
import { isSameFile } from './backup/private-target.js';
import type { DatabaseLocation } from './database-location.js';
import { dialectFor } from './dialect/dialect-for.js';

/** Throws `usage` when `target` is the database file of the mirror, or one of the files that SQLite keeps beside it. */
export function refuseOwnFile(location: DatabaseLocation, target: string): void {
  const { file } = dialectFor(location);
  if (file === null) return;
  const own = ['', '-wal', '-shm'].map((end) => `${file}${end}`);
  if (own.some((one) => one === target || isSameFile(one, target)))
    throw new Fault('usage', `${target} is the mirror itself`, { hint: 'Name another file.' });
}
