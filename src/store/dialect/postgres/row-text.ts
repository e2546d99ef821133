/**
 * Returns the cells of a row that PostgreSQL wrote as one text, `(a,"b c",,"")`: each as its own type writes it, null
 * where nothing stands between the commas. See "Composite Type Input and Output Syntax" in its manual. A row of no
 * columns and a row of one null are written alike, so the number of columns has to be known.
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

/** Behind the last character of the cell. A cell with a comma, a parenthesis, a quote or a backslash in it is quoted. */
function cellEnd(text: string, from: number): number {
  if (text[from] !== '"') {
    const comma = text.indexOf(',', from);
    return comma === -1 ? text.length - 1 : comma;
  }
  let at = text.indexOf('"', from + 1);
  // A quote within is doubled.
  while (text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at + 1;
}

function unquoted(written: string): string {
  return written.slice(1, -1).replace(/""|\\\\/g, (pair) => pair.slice(1));
}
