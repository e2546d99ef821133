import { execFileSync } from 'node:child_process';

/**
 * Reads a file in another process. A process that has a database open must not open its files in any other way: closing
 * the second descriptor releases the locks of SQLite (see keep-locks.ts).
 */
export const readApart = (file: string): Buffer =>
  execFileSync('cat', ['--', file], { maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'inherit'] });

/** Copies a file in another process, for the same reason. */
export const copyApart = (from: string, to: string): void => {
  execFileSync('cp', ['--', from, to]);
};
