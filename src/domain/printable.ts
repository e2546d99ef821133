/**
 * Control characters written out, so that text from elsewhere cannot move a terminal's cursor, forge a line
 * of a log or reverse the reading direction. C0, DEL, C1, line separators and bidirectional overrides.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function printable(text: string): string {
  return text.replace(unsafe, (character) => {
    const code = character.charCodeAt(0);
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
