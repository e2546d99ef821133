/**
 * Control characters that are escaped, so that foreign text cannot move a terminal's cursor, forge a log line or
 * reverse the reading direction: C0, DEL, C1, line separators, bidirectional marks, overrides and isolates, and
 * interlinear annotations. Each becomes `\uXXXX`, which within a JSON string is the same character.
 */
const unsafe = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]/gu;

/** Keeps line ends and tabs, which are layout. A lone carriage return would let text overwrite its own line. */
const unsafeButLayout =
  /\r(?!\n)|[^\P{Cc}\t\n\r]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]/gu;

export const printable = (text: string): string => text.replace(unsafe, writtenOut);

/** Same as `printable`, but keeps line ends and tabs. */
export const printableLines = (text: string): string => text.replace(unsafeButLayout, writtenOut);

function writtenOut(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
