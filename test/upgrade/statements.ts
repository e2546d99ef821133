/**
 * Returns the statements of an SQL text, each with its semicolon. Knows strings, comments, dollar quotes, and the
 * semicolons inside a trigger. Text after the last semicolon is dropped: in a migration it is white space or a comment.
 */
export function statementsOf(sql: string): readonly string[] {
  const found: string[] = [];
  let begun = 0;
  let depth = 0;
  for (const { 0: token, index } of sql.matchAll(tokens)) {
    const word = token.toUpperCase();
    if (word === 'BEGIN' || word === 'CASE') depth += 1;
    else if (word === 'END') depth -= 1;
    else if (token === ';' && depth === 0) {
      found.push(sql.slice(begun, index + 1));
      begun = index + 1;
    }
  }
  return found;
}

const tokens = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|\w+|;/g;
