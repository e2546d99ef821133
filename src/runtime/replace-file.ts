import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Owner, ownerFor } from './file-owner.js';
import { syncFile, syncFolder } from './sync-file.js';

/** The four steps of a durable replacement, as a dependency, so that a test can stop at each of them. */
export interface Disk {
  /**
   * Creates a new file with mode 0600, removing an existing one, and gives it to `owner`, with its mode. Leaves none when it
   * fails.
   */
  write(path: string, text: string, owner?: Owner | null): Promise<void>;
  sync(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** A rename becomes durable only when the folder is synced. */
  syncFolder(path: string): Promise<void>;
}

export const systemDisk: Disk = {
  async write(path, text, owner = null) {
    await rm(path, { force: true });
    // Removed and created exclusively, so that no link or open handle of another process is written to.
    const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
    try {
      await file.writeFile(text);
      // Some file systems have no owners, and root may lack the right; then the file stays root's alone.
      if (owner !== null)
        await file
          .chown(owner.uid, owner.gid)
          .then(() => file.chmod(owner.mode))
          .catch(() => {});
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  },
  sync: syncFile,
  rename: (from, to) => rename(from, to),
  syncFolder,
};

/**
 * Replaces a secret's file atomically. After a crash at any point the file has the old text or the new one, and after
 * this returns it has the new one even after a power cut. The temporary name is fixed, so a crash leaves at most one
 * temporary file. Root leaves the file to the user and group that could read it (`ownerFor`). Callers must hold a lock.
 */
export async function replaceFile(path: string, text: string, disk: Disk = systemDisk): Promise<void> {
  const fresh = `${path}.new`;
  await disk.write(fresh, text, ownerFor(path));
  await disk.sync(fresh);
  await disk.rename(fresh, path);
  await disk.syncFolder(dirname(path));
}
