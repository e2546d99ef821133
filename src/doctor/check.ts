import { isFault } from '../domain/fault.js';

/** `skip`: there is nothing to look at, or something else has to be mended first. */
export type Verdict = 'pass' | 'warn' | 'fail' | 'skip';

export interface Check {
  /** What was looked at: `database.disk`, or `token.acme` for one source. */
  readonly name: string;
  readonly verdict: Verdict;
  /** One sentence. */
  readonly message: string;
  /** What to type; null when there is nothing to mend. */
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

/** What stopped a look is what is wrong. A broken invariant is ours to mend and passes on. */
export function failedBy(name: string, error: unknown, mend: string): Check {
  if (!isFault(error)) throw error;
  return fail(name, firstLine(error.message), error.about.hint ?? mend);
}

function firstLine(text: string): string {
  return text.split('\n').join(' ');
}
