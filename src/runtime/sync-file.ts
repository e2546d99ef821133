import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes the content of a file durable, or the entries of a folder. */
export function syncFile(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
