import { execFileSync } from 'node:child_process';
import { existsSync, fstatSync, readdirSync, readFileSync, readSync, type Stats, statSync } from 'node:fs';

const descriptors = '/proc/self/fd';

/**
 * Reads a file that may be a database which is open in this process. Closing a second descriptor of it would release the
 * locks of SQLite (see keep-locks.ts), so this reads through the descriptor that SQLite has open. Systems that do not list
 * the descriptors of a process read the file in another process, which takes many times as long.
 */
export function readApart(file: string): Buffer {
  if (!existsSync(descriptors))
    return execFileSync('cat', ['--', file], { maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'inherit'] });
  const wanted = statSync(file);
  for (const name of readdirSync(descriptors)) {
    const bytes = readThrough(Number(name), wanted);
    if (bytes !== null) return bytes;
  }
  // Without a descriptor there are no locks that could be lost.
  return readFileSync(file);
}

/** Returns the content of the file, or null if the descriptor is closed, belongs to another file or cannot be read. */
function readThrough(descriptor: number, { dev, ino }: Stats): Buffer | null {
  try {
    const found = fstatSync(descriptor);
    if (found.dev !== dev || found.ino !== ino) return null;
    const bytes = Buffer.alloc(found.size);
    let read = 0;
    // With a position, so that the descriptor keeps its own.
    for (let more = -1; more !== 0; read += more)
      more = readSync(descriptor, bytes, read, bytes.length - read, read);
    return bytes.subarray(0, read);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBADF') return null;
    throw error;
  }
}

/** Copies a file in another process, because the copy may also replace one that is open here. */
export const copyApart = (from: string, to: string): void => {
  execFileSync('cp', ['--', from, to]);
};
