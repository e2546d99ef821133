import { Fault } from '../domain/fault.js';

export const makeRoom = 'make room on its disk';

/**
 * Returns the fault for a failed write. A full disk is temporary and retried (`database_full`); any other cause needs
 * an operator (`usage`).
 */
export function unwritable(what: string, error: unknown): Fault {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new Fault(isFull ? 'database_full' : 'usage', `${what} cannot be written (${code})`, {
    hint: isFull ? makeRoom : 'check who owns its folder',
    cause: error,
  });
}
