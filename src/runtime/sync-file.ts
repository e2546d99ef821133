import { closeSync, fsyncSync, openSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** Makes the content of a file durable. Windows refuses that without the right to write. */
export async function syncFile(path: string): Promise<void> {
  await synced(await open(path, 'r+'));
}

/** The same, blocking the event loop. */
export function syncFileNow(path: string): void {
  syncedNow(openSync(path, 'r+'));
}

/**
 * Makes the names in a folder durable: those of new files, and of renamed ones. Does nothing where the system or the file system
 * cannot sync a folder, as SQLite and PostgreSQL do.
 */
export async function syncFolder(path: string): Promise<void> {
  try {
    await synced(await open(path, 'r'));
  } catch (error) {
    if (!isUnsupported(error)) throw error;
  }
}

/** The same, blocking the event loop. */
export function syncFolderNow(path: string): void {
  try {
    syncedNow(openSync(path, 'r'));
  } catch (error) {
    if (!isUnsupported(error)) throw error;
  }
}

async function synced(file: FileHandle): Promise<void> {
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function syncedNow(descriptor: number): void {
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function isUnsupported(error: unknown): boolean {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (syscall !== 'fsync') return false;
  return ['EBADF', 'EINVAL', ...(process.platform === 'win32' ? ['EPERM'] : [])].includes(code);
}
