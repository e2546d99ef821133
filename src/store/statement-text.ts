import { noStatement, notOneStatement } from './query-refusals.js';

/** Whether a comment may contain others, as in PostgreSQL. In SQLite, the first end is the end of it. */
export type Comments = 'flat' | 'nested';

/** Matches what may precede a statement without effect: white space, empty statements, a byte order mark, a line of comment. */
const lead = /(?:[ \t\n\f\r;\uFEFF]+|--[^\n]*(?:\n|$))*/y;
const marks = /\/\*|\*\//g;

/**
 * Returns the statement without that prefix, so that the text that is checked is the text that runs. Throws `usage` for a text
 * without a statement, and for one with a NUL character: the databases stop reading at it, and the check would not.
 */
export function statementText(sql: string, comments: Comments): string {
  if (sql.includes('\0')) throw notOneStatement();
  for (let from = 0; ; ) {
    lead.lastIndex = from;
    lead.test(sql);
    const at = lead.lastIndex;
    const end = sql.startsWith('/*', at) ? endOfComment(sql, at, comments) : null;
    if (end === null && at === sql.length) throw noStatement();
    if (end === null) return sql.slice(at);
    from = end;
  }
}

/** Returns where the comment that begins at `at` ends; null if it does not. */
function endOfComment(sql: string, at: number, comments: Comments): number | null {
  marks.lastIndex = at + 2;
  for (let depth = 1; depth > 0; ) {
    const mark = marks.exec(sql)?.[0];
    if (mark === undefined) return null;
    if (mark === '*/') depth -= 1;
    else if (comments === 'nested') depth += 1;
    // In `/*/`, which opens nothing, the end begins with the star.
    else marks.lastIndex -= 1;
  }
  return marks.lastIndex;
}
