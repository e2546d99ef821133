import { Fault } from '../domain/fault.js';
import { descriptorsFault } from './file-descriptors.js';

export const makeRoom = 'make room on its disk';

/** Errors of a disk, or of a network file system that is away. They may pass, as SQLite's I/O errors may. */
const passing: ReadonlySet<string> = new Set([
  ...['EIO', 'EREMOTEIO', 'ENXIO', 'ENODEV', 'ESTALE', 'ETIMEDOUT', 'EHOSTDOWN', 'EAGAIN', 'ENOMEM'],
]);

/**
 * Returns the fault for a failed write. A full disk (`database_full`), a disk that fails (`database_busy`) and a lack of
 * descriptors may pass and are retried; any other cause needs an operator (`usage`).
 */
export function unwritable(what: string, error: unknown): Fault {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  const message = `${what} cannot be written (${code})`;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Fault('database_full', message, { hint: makeRoom, cause: error });
  if (passing.has(code))
    return new Fault('database_busy', message, {
      hint: 'check its disk, and the log of the kernel',
      cause: error,
    });
  const hint = code === 'EROFS' ? 'its file system is mounted read-only' : 'check who owns its folder';
  return descriptorsFault(error) ?? new Fault('usage', message, { hint, cause: error });
}
