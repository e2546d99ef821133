import { Fault } from '../domain/fault.js';
import { descriptorsFault } from './file-descriptors.js';

export const makeRoom = 'make room on its disk';

/** Errors of a disk, or of a network file system that is away. They may pass, as SQLite's I/O errors may. */
const passing: ReadonlySet<string> = new Set([
  ...['EIO', 'EREMOTEIO', 'ENXIO', 'ENODEV', 'ESTALE', 'ETIMEDOUT', 'EHOSTDOWN', 'EAGAIN', 'ENOMEM'],
]);

const checkDisk = 'check its disk, and the log of the kernel';

const hintOf: Readonly<Record<string, string>> = {
  EROFS: 'its file system is mounted read-only',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  ENAMETOOLONG: 'choose a shorter name',
};

/**
 * Returns the fault for a failed write. A full disk (`database_full`), a disk that fails (`database_busy`) and a lack of
 * descriptors may pass and are retried; any other cause needs an operator (`usage`).
 */
export function unwritable(what: string, error: unknown): Fault {
  const code = codeOf(error);
  const hint = hintOf[code] ?? 'check who owns its folder';
  return passingUnwritable(what, error) ?? new Fault('usage', messageOf(what, code), { hint, cause: error });
}

/** Returns the fault for a failed write that may pass; null where an operator is needed. */
export function passingUnwritable(what: string, error: unknown): Fault | null {
  const code = codeOf(error);
  const message = messageOf(what, code);
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Fault('database_full', message, { hint: makeRoom, cause: error });
  if (passing.has(code)) return new Fault('database_busy', message, { hint: checkDisk, cause: error });
  return descriptorsFault(error) ?? null;
}

/** Returns the fault for a failed read: a disk that fails may pass, as above. `hint`: for causes that say nothing more. */
export function unreadable(what: string, error: unknown, hint: string): Fault {
  const code = codeOf(error);
  const message = `${what} cannot be read (${code})`;
  if (passing.has(code)) return new Fault('database_busy', message, { hint: checkDisk, cause: error });
  return descriptorsFault(error) ?? new Fault('usage', message, { hint: hintOf[code] ?? hint, cause: error });
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown';
const messageOf = (what: string, code: string): string => `${what} cannot be written (${code})`;
