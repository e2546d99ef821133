import { isFault } from '../domain/fault.js';

/** `skip`: the check does not apply, or another problem has to be fixed first. */
export type Verdict = 'pass' | 'warn' | 'fail' | 'skip';

export interface Check {
  /** The name of the check: `database.disk`, or `token.acme` for one source. */
  readonly name: string;
  readonly verdict: Verdict;
  /** One sentence; problems of the configuration follow, one a line. */
  readonly message: string;
  /** The command to run; null when there is nothing to fix. */
  readonly mend: string | null;
}

export const pass = (name: string, message: string): Check => ({
  name,
  verdict: 'pass',
  message,
  mend: null,
});
export const skip = (name: string, message: string): Check => ({
  name,
  verdict: 'skip',
  message,
  mend: null,
});
export const warn = (name: string, message: string, mend: string): Check => ({
  name,
  verdict: 'warn',
  message,
  mend,
});
export const fail = (name: string, message: string, mend: string): Check => ({
  name,
  verdict: 'fail',
  message,
  mend,
});

/** Returns a failed check for a `Fault`. Rethrows any other error, which is a bug. */
export function failedBy(name: string, error: unknown, mend: string): Check {
  if (!isFault(error)) throw error;
  return fail(name, error.message, error.about.hint ?? mend);
}
