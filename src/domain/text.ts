/**
 * Returns text that every database can store: NUL and lone surrogates become U+FFFD, everything else stays as sent.
 * PostgreSQL rejects NUL, SQLite's shell stops at it, and UTF-8 cannot encode half a surrogate pair.
 */
export function storableText(value: string): string {
  const wellFormed = value.isWellFormed() ? value : value.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\uFFFD') : wellFormed;
}

/** Returns text without the byte order mark that editors and shells of Windows write before it. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
