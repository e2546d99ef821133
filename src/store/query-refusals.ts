import { defined } from '../domain/defined.js';
import { Fault } from '../domain/fault.js';
import type { Mistake } from './mistake.js';

/** The errors for rejected user queries, worded the same for both databases. */

export function tooSlow(timeoutMs: number): Fault {
  return new Fault('usage', `the query took longer than ${timeoutMs} ms and was interrupted`, {
    hint: 'Narrow it, name a source, or allow more time.',
  });
}

export function endedEarly(): Fault {
  return new Fault('stopped', 'the query was stopped before its end');
}

/** `beginnings`: the keywords with which a read-only statement can begin in this database. */
export function onlyReads(beginnings: string, cause?: unknown): Fault {
  return new Fault('usage', 'only statements that read are run here', {
    hint: `Begin with ${beginnings}.`,
    cause,
  });
}

export function notOneStatement(cause?: unknown): Fault {
  return new Fault('usage', 'one statement at a time: the text has none or several', {
    hint: 'Write one statement; run several one after the other.',
    cause,
  });
}

export function noStatement(): Fault {
  return new Fault('usage', 'the text has no statement', {
    hint: 'Write one, such as SELECT count(*) FROM investments.',
  });
}

/** `mistake`: what is wrong, where it can be told. */
export function notValid(complaint: string, cause?: unknown, mistake?: Mistake): Fault {
  return new Fault('usage', `the query is not valid: ${complaint}`, {
    hint: mistake?.suggestion ?? 'schema/dictionary.md lists the tables, views and columns.',
    ...defined({ place: mistake?.place ?? undefined }),
    cause,
  });
}

/** A valid statement that ended with an error of the database, such as a division by zero. */
export function failedOnRows(complaint: string, hint = changeStatement): Fault {
  return new Fault('usage', `the query failed: ${complaint}`, { hint });
}

const changeStatement =
  'Change the statement: it is valid, but cannot be computed for each row that it reads.';

/** `present`: the name that reads the present state of the relation in any query. */
export function hasNoPast(relation: string, present: string): Fault {
  return new Fault('usage', `${relation} shows only the present, and this query reads a past state`, {
    hint: `Write ${present} to read it as it is now.`,
  });
}

/**
 * `view`: a typed view of PostgreSQL. `plain`: the relation it is made from. `present`: the name that reads the present
 * state of that relation in any query; null for a relation with a past.
 */
export function typedHasNoPast(view: string, plain: string, present: string | null): Fault {
  return new Fault('usage', `${view} shows only the present, and this query reads a past state`, {
    hint:
      present === null
        ? `Write ${plain}, without a schema, to read its past: times are texts and amounts are cents there.`
        : `Write ${present} to read it as it is now.`,
  });
}

/** `what`: what a standby of PostgreSQL cannot do, because it takes temporary views. */
export function needsPrimary(what: string): Fault {
  return new Fault('usage', `the server is a standby, which cannot ${what}`, {
    hint: 'Name the primary. A standby runs `rosterd query` without --as-of.',
  });
}

export function hasParameters(): Fault {
  return notValid('it has parameters, and no values are bound to them', undefined, {
    place: null,
    suggestion: 'Write the values into the statement.',
  });
}

export function rowTooLarge(bytesMax: number): Fault {
  return new Fault('usage', `a row of the result holds more than ${megabytes(bytesMax)}`, {
    hint: 'Select fewer columns, or a part of a long text with substr().',
  });
}

export function resultTooLarge(bytesMax: number): Fault {
  return new Fault('usage', `the result holds more than ${megabytes(bytesMax)}`, {
    hint: 'Select fewer rows or columns; `rosterd query` has no such limit.',
  });
}

export function tooMuchMemory(megabytesMax: number): Fault {
  return new Fault('usage', `the query needs more than ${megabytesMax} MB of memory and was ended`, {
    hint: 'Sort or group fewer rows, and build no long texts: no group_concat over a whole table.',
  });
}

const megabytes = (bytes: number): string => `${Math.floor(bytes / 1_048_576)} MB`;

/** Tells a person at the dashboard what to do; other surfaces replace it. */
export const showNamesHint =
  'Show names first, or leave identities, roster and message bodies out of the query.';

export function readsPeople(): Fault {
  return new Fault('usage', 'this statement reads names or free text written by people, which are masked', {
    hint: showNamesHint,
  });
}

export function readsAudit(): Fault {
  return new Fault('usage', 'only operators may read audit_log and operator_requests', {
    hint: 'Leave the audit log out of the query, or ask an operator.',
  });
}

export function cannotCheckAudit(): Fault {
  return new Fault('usage', 'this statement is refused: whether it reads the audit log cannot be checked', {
    hint: 'Write it in a simpler way, or ask an operator.',
  });
}

export function readsVault(): Fault {
  return new Fault(
    'usage',
    'queries do not read the vault, in which rosterd keeps tokens and signing secrets',
    {
      hint: '`rosterd vault status` shows its entries by key.',
    },
  );
}

/** `what`: the function, operator, type or table, as the server describes it. */
export function callsOwnCode(what: string): Fault {
  return new Fault(
    'usage',
    `this statement uses ${what}, which is not part of PostgreSQL and may read what you may not`,
    { hint: 'Leave it out of the query, or ask an operator.' },
  );
}

/** `name`: the function that can do more than read. */
export function callsMore(name: string): Fault {
  return new Fault('usage', `only statements that read are run here, and ${name} can do more`, {
    hint: `Leave ${name} out of the query.`,
  });
}

export function cannotTellCalls(): Fault {
  return new Fault('usage', 'only statements that read are run here, and U&"…" can hide what one calls', {
    hint: 'Write the name in quotes without U&.',
  });
}

/** What users of the console did and asked for. */
export const auditTables = ['audit_log', 'operator_requests'] as const;

/** `what`: the part of the statement that could reveal masked data. */
export function cannotJudge(what: string): Fault {
  return new Fault('usage', `while names are masked this statement is refused: ${what}`, {
    hint: showNamesHint,
  });
}
