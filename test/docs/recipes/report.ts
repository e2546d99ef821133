import type { Found } from './run.js';

export interface ProgramResult {
  readonly program: string;
  /** Null when it is not installed. */
  readonly found: Found | null;
  readonly ran: number;
  readonly wrong: readonly string[];
}

/** Returns a line for each program, and whether the run failed: a wrong result, or a required program that is missing. */
export function report(
  results: readonly ProgramResult[],
  required: readonly string[],
): { readonly lines: readonly string[]; readonly failed: boolean } {
  const lines = results.flatMap(({ program, found, ran, wrong }) => {
    if (found === null)
      return [`${program}: not installed${required.includes(program) ? ', but required' : ''}`];
    const counts = `${program} ${found.version}: ${ran - wrong.length} of ${ran} ran as the page says`;
    return [counts, ...wrong.map((why) => `  ${why}`)];
  });
  const failed = results.some(
    ({ program, found, wrong }) => wrong.length > 0 || (found === null && required.includes(program)),
  );
  return { lines, failed };
}
