/**
 * One rule at the door for every database: NUL and lone surrogates become U+FFFD, everything else stays
 * as sent. PostgreSQL refuses NUL, SQLite's shell stops at it, and UTF-8 cannot carry half a pair.
 */
export function storableText(value: string): string {
  const wellFormed = value.isWellFormed() ? value : value.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\uFFFD') : wellFormed;
}
