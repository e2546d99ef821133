const needsQuotes = /[",\r\n]/;
const startsFormula = /^[=+\-@\t\r\n\0]/;
const plainNumber = /^-?\d+(\.\d+)?$/;

/** RFC 4180: quoted only where it has to be, quotes doubled. */
export function quoted(text: string): string {
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A spreadsheet takes text with such a beginning for a formula and runs it; a quote in front makes it text
 * again. Only for what people typed: a number must reach the sheet as it is, or -5 becomes a word.
 */
export function neutral(text: string): string {
  return startsFormula.test(text) ? `'${text}` : text;
}

/** A number kept as text, such as a share count: as it is, unless it is none after all. */
export function neutralUnlessNumber(text: string): string {
  return plainNumber.test(text) ? text : neutral(text);
}
