import { Fault } from '../../domain/fault.js';
import { passingUnwritable } from '../../runtime/unwritable.js';

/**
 * Returns a full or failing disk, missing permissions and a folder in the place of a file as faults, and any other error
 * unchanged.
 */
export function diskFault(folder: string, error: unknown): unknown {
  if (error instanceof Fault) return error;
  const { code = '', syscall, path, dest } = error as NodeJS.ErrnoException & { readonly dest?: string };
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Fault('database_full', `the disk of ${folder} is full; the lake is as it was`, {
      hint: 'Free disk space: a new base needs as much as the old one.',
      cause: error,
    });
  if (code === 'EISDIR')
    return new Fault('usage', `${dest ?? path ?? folder} is a folder, and the lake needs a file there`, {
      hint: 'Move that folder to another place.',
      cause: error,
    });
  // Below /proc, for example.
  const isUnmakeable = code === 'ENOENT' && syscall === 'mkdir';
  if (!isUnmakeable && !['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].includes(code))
    return passingUnwritable(`the lake ${folder}`, error) ?? error;
  return new Fault('usage', `cannot write to ${folder} (${code})`, {
    hint: 'Name a folder that this user can write to.',
    cause: error,
  });
}

/** Returns the fault for a file or folder that cannot be read. */
export function unreadableFault(path: string, error: unknown): Fault {
  return new Fault('usage', `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
    hint: isDenied(error)
      ? 'run it as the user who owns that path, or let this user read it'
      : 'check that path and its disk',
    cause: error,
  });
}

/** Whether this user may not read something. */
export const isDenied = (error: unknown): boolean =>
  ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
