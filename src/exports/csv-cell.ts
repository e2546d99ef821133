const needsQuotes = /[",\r\n]/;
const startsFormula = /^[=+\-@\t\r\n\0]/;
const plainNumber = /^-?\d+(\.\d+)?$/;

/** Quotes a cell as in RFC 4180, only where necessary, with quotes doubled. */
export function quoted(text: string): string {
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Prefixes text that a spreadsheet would run as a formula with a quote, which makes it plain text. Only for text that
 * people typed: a prefixed number such as -5 would no longer be a number.
 */
export function neutral(text: string): string {
  return startsFormula.test(firstOf(text)) ? `'${text}` : text;
}

/** The same for numbers stored as text, such as share counts, which are unchanged if they are numbers. */
export function neutralUnlessNumber(text: string): string {
  return plainNumber.test(text) ? text : neutral(text);
}

/**
 * Returns the first character as Apple Numbers reads it: one that is compatible with `=`, `+`, `-` or `@`, such as `＝` of
 * full width, begins a formula there (https://github.com/adaltas/node-csv/pull/387).
 */
function firstOf(text: string): string {
  const first = text.slice(0, 1);
  return first > '\x7f' ? first.normalize('NFKC') : first;
}
