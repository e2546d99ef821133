/**
 * Control characters written out, so that text from elsewhere cannot move a terminal's cursor, forge a line
 * of a log or reverse the reading direction. C0, DEL, C1, line separators and bidirectional overrides.
 */
const unsafe = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export function printable(text: string): string {
  return text.replace(unsafe, (character) => {
    const code = character.charCodeAt(0);
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
