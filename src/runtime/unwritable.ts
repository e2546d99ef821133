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
  const code = codeOf(error);
  const hint = code === 'EROFS' ? 'its file system is mounted read-only' : 'check who owns its folder';
  return passingUnwritable(what, error) ?? new Fault('usage', messageOf(what, code), { hint, cause: error });
}

/** Returns the fault for a failed write that may pass; null where an operator is needed. */
export function passingUnwritable(what: string, error: unknown): Fault | null {
  const code = codeOf(error);
  const message = messageOf(what, code);
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Fault('database_full', message, { hint: makeRoom, cause: error });
  if (passing.has(code))
    return new Fault('database_busy', message, {
      hint: 'check its disk, and the log of the kernel',
      cause: error,
    });
  return descriptorsFault(error) ?? null;
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown';
const messageOf = (what: string, code: string): string => `${what} cannot be written (${code})`;
