/**
 * Returns the cells of a row in PostgreSQL's composite text format, `(a,"b c",,"")`: each as its type's text, and null for
 * an empty field. See "Composite Type Input and Output Syntax" in the manual. `columns` is needed because a row of no
 * columns and a row of one null have the same text.
 */
export function cellsOf(text: string, columns: number): readonly (string | null)[] {
  const cells: (string | null)[] = [];
  for (let at = 1; cells.length < columns; at += 1) {
    const end = cellEnd(text, at);
    const written = text.slice(at, end);
    cells.push(written === '' ? null : written.startsWith('"') ? unquoted(written) : written);
    at = end;
  }
  return cells;
}

/** Returns the index after the cell. Cells with a comma, parenthesis, quote or backslash in them are quoted. */
function cellEnd(text: string, from: number): number {
  if (text[from] !== '"') {
    const comma = text.indexOf(',', from);
    return comma === -1 ? text.length - 1 : comma;
  }
  let at = text.indexOf('"', from + 1);
  // A quote inside the cell is doubled.
  while (text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at + 1;
}

function unquoted(written: string): string {
  return written.slice(1, -1).replace(/""|\\\\/g, (pair) => pair.slice(1));
}
