import { Fault } from '../../domain/fault.js';

/** A full disk passes by itself and is tried again; whatever else keeps a file from being written needs somebody. */
export function unwritable(what: string, error: unknown): Fault {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new Fault(isFull ? 'database_full' : 'usage', `${what} cannot be written (${code})`, {
    hint: isFull ? 'make room on its disk' : 'check who owns its folder',
    cause: error,
  });
}
