import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The four steps that make a replacement survive a power cut, as an argument, so that a test can stop at each. */
export interface Disk {
  /** Creates the file anew, readable by its owner only. */
  write(path: string, text: string): Promise<void>;
  sync(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** A rename is in the folder, and only there until the folder is synced too. */
  syncFolder(path: string): Promise<void>;
}

export const systemDisk: Disk = {
  async write(path, text) {
    await rm(path, { force: true });
    // Exclusive and after a removal: nobody's link or open handle is written through.
    const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  },
  sync: (path) => syncAt(path),
  rename: (from, to) => rename(from, to),
  syncFolder: (path) => syncAt(path),
};

async function syncAt(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Replaces a secret's file whole: after a crash at any point it holds the old text or the new one, and when this
 * returns it holds the new one even after a power cut. The temporary name is fixed, so a crash leaves at most one
 * behind; writers take turns under a lock.
 */
export async function replaceFile(path: string, text: string, disk: Disk = systemDisk): Promise<void> {
  const fresh = `${path}.new`;
  await disk.write(fresh, text);
  await disk.sync(fresh);
  await disk.rename(fresh, path);
  await disk.syncFolder(dirname(path));
}
