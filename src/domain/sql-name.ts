/** Reserved by PostgreSQL, and the name of a login in many a container. */
const reserved = 'user';

/** Returns a name of PostgreSQL for a statement that a person copies: in quotes if it needs any. */
export function sqlName(text: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(text) && text !== reserved ? text : `"${text.replaceAll('"', '""')}"`;
}
