import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { giveTo, makeOwnedFolder, ownerIn } from '../../runtime/file-owner.js';
import { type Disk, systemDisk } from '../../runtime/replace-file.js';

/** Every step that changes the folder of a lake, as a dependency, so that a test can stop at each of them. */
export interface LakeDisk extends Disk {
  /** Creates a folder with mode 0700, and those above it. Root leaves them to the user of the lake. */
  makeFolder(path: string): Promise<void>;
  /** Gives a file that DuckDB wrote mode 0600. Root leaves it to the user of its folder. */
  protect(path: string): Promise<void>;
  /** Removes a file or a folder with its content. */
  remove(path: string): Promise<void>;
}

export const systemLakeDisk: LakeDisk = {
  ...systemDisk,
  makeFolder: async (path) => makeOwnedFolder(path),
  protect: async (path) => {
    await chmod(path, 0o600);
    giveTo(ownerIn(dirname(path)), path);
  },
  remove: (path) => rm(path, { recursive: true, force: true }),
};

/** Returns size and digest of a file, which is never in memory as a whole. */
export async function measured(file: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file)) hash.update(piece as Buffer);
  return { bytes: (await stat(file)).size, sha256: hash.digest('hex') };
}
