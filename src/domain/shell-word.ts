/**
 * Returns text as one word of a POSIX shell, for a command that a person copies: in quotes if it needs any. Inside double
 * quotes a shell still reads some characters, `!` included; text that contains one gets single quotes.
 */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", `'\\''`)}'` : `"${text}"`;
}
