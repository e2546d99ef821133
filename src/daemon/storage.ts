import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { MirrorPlace } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';

/** Returns the size of the mirror's files and the free space beside them; null for a mirror on a server. */
export async function storageOf(place: MirrorPlace) {
  const { file } = dialectFor(place);
  if (file === null) return null;
  const { bavail, bsize } = await statfs(dirname(file));
  return {
    databaseBytes: await sizeOf(file),
    logBytes: await sizeOf(`${file}-wal`),
    freeBytes: bavail * bsize,
  };
}

const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    // Not created yet, or deleted after a checkpoint.
    () => 0,
  );
