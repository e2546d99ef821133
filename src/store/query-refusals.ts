import { Fault } from '../domain/fault.js';

/** What a query of somebody's own is refused with: in the same words, whichever database it was for. */

export function tooSlow(timeoutMs: number): Fault {
  return new Fault('usage', `the query took longer than ${timeoutMs} ms and was interrupted`, {
    hint: 'Narrow it, name a source, or allow more time.',
  });
}

export function endedEarly(): Fault {
  return new Fault('stopped', 'the query was stopped before its end');
}

/** `beginnings`: what may stand first in a statement that reads, there. */
export function onlyReads(beginnings: string, cause?: unknown): Fault {
  return new Fault('usage', 'only statements that read are run here', {
    hint: `Begin with ${beginnings}.`,
    cause,
  });
}

export function notOneStatement(cause?: unknown): Fault {
  return new Fault('usage', 'one statement at a time, please: the text holds none or several', {
    hint: 'Run them one after the other.',
    cause,
  });
}

export function notValid(complaint: string, cause?: unknown): Fault {
  return new Fault('usage', `the query is not valid: ${complaint}`, {
    hint: 'schema/dictionary.md lists the tables, views and columns.',
    cause,
  });
}

/** Where people stand: their own table, those of a listing under way, and bodies nobody could read. */
export const tablesWithPeople = ['identity_rows', 'staged_rows', 'quarantine_rows'] as const;

export function readsPeople(): Fault {
  return new Fault('usage', 'this statement reads names or other things people wrote, which are masked', {
    hint: 'Ask for names to be shown first, or leave identities, roster and quarantine out of it.',
  });
}
