/**
 * Control characters written out, so that text from elsewhere cannot move a terminal's cursor, forge a line
 * of a log or reverse the reading direction: C0, DEL, C1, line separators, bidirectional marks, overrides and
 * isolates, and interlinear annotations. Each becomes `\uXXXX`, which within a JSON string is the same character.
 */
const unsafe = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]/gu;

/** Line ends of a result are layout. A carriage return alone would let a text overwrite its own line. */
const unsafeButLayout =
  /\r(?!\n)|[^\P{Cc}\t\n\r]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]/gu;

export const printable = (text: string): string => text.replace(unsafe, writtenOut);

/** As `printable`, but lines stay lines, and columns set with tabs stay columns. */
export const printableLines = (text: string): string => text.replace(unsafeButLayout, writtenOut);

function writtenOut(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
