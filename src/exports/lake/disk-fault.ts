import { Fault } from '../../domain/fault.js';

/** Returns a full disk and missing permissions as faults, and any other error unchanged. */
export function diskFault(folder: string, error: unknown): unknown {
  const code = error instanceof Fault ? '' : ((error as NodeJS.ErrnoException).code ?? '');
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Fault('database_full', `the disk of ${folder} is full; the lake is as it was`, {
      hint: 'Free disk space: a new base needs as much as the old one.',
      cause: error,
    });
  if (!['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].includes(code)) return error;
  return new Fault('usage', `cannot write to ${folder} (${code})`, {
    hint: 'Name a folder that this user can write to.',
    cause: error,
  });
}

/** Returns the fault for a file that this user may not read, or null for another error. */
export function unreadableFault(file: string, error: unknown): Fault | null {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code !== 'EACCES' && code !== 'EPERM') return null;
  return new Fault('usage', `${file} cannot be read (${code})`, {
    hint: 'run it as the user who owns that file, or let this user read it',
    cause: error,
  });
}
