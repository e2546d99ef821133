import { notOneStatement } from './query-refusals.js';

/**
 * Matches what may precede a statement without effect: white space, empty statements, comments and a byte order mark.
 */
const lead = /^(?:[ \t\n\f\r;\uFEFF]+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;

/**
 * Returns the statement without that prefix, so that the text that is checked is the text that runs. Throws `usage` for
 * a text with a NUL character: the databases stop reading at it, and the check would not.
 */
export function statementText(sql: string): string {
  if (sql.includes('\0')) throw notOneStatement();
  return sql.replace(lead, '');
}
