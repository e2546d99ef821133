import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatabaseLocation } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';

/**
 * Returns the size of the mirror's files and the free space beside them; null for a mirror on a server, and when the
 * folder cannot be read: the metrics must then still report that the mirror is unreadable.
 */
export async function storageOf(location: DatabaseLocation) {
  const { file } = dialectFor(location);
  if (file === null) return null;
  const space = await statfs(dirname(file)).catch(() => null);
  if (space === null) return null;
  return {
    databaseBytes: await sizeOf(file),
    logBytes: await sizeOf(`${file}-wal`),
    freeBytes: space.bavail * space.bsize,
  };
}

/** Returns the free space beside the mirror's files; null for a mirror on a server, and `unknown` when it cannot be read. */
export async function freeBytesOf(location: DatabaseLocation): Promise<number | 'unknown' | null> {
  if (dialectFor(location).file === null) return null;
  return (await storageOf(location))?.freeBytes ?? 'unknown';
}

const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    // Not created yet, or deleted after a checkpoint.
    () => 0,
  );
