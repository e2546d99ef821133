import { notOneStatement } from './query-refusals.js';

/** White space, empty statements, comments and a byte order mark: what may precede a statement and means nothing. */
const lead = /^(?:[ \t\n\f\r;\uFEFF]+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;

/**
 * Returns the statement without what precedes it, so that the text that is judged is the text that runs.
 * Throws `usage` for a text with a NUL in it: the databases stop reading there, and the reader of the text does not.
 */
export function statementText(sql: string): string {
  if (sql.includes('\0')) throw notOneStatement();
  return sql.replace(lead, '');
}
