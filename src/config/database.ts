import type { Secret } from './secrets.js';

/** Where the mirror is kept. */
export type DatabaseConfig = SqliteConfig | PostgresConfig;

export interface SqliteConfig {
  readonly kind: 'sqlite';
  readonly file: string;
}

export interface PostgresConfig {
  readonly kind: 'postgres';
  /** Without its password: it may be shown. */
  readonly url: string;
  /** Null leaves it to PGPASSWORD, ~/.pgpass, or a server that asks for none. */
  readonly password: Secret | null;
}

const postgresScheme = /^postgres(?:ql)?:\/\//;

export const isPostgres = (text: string): boolean => postgresScheme.test(text);

/** An address of another kind of server than ours; a path to a file has no scheme before two slashes. */
export const isOtherServer = (text: string): boolean =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && !isPostgres(text) && !text.startsWith('sqlite:');

/**
 * A host and a database, or a socket's folder in `?host=`; a password only where URLs have one, so that there is one
 * place to take it out of.
 */
export function isPostgresUrl(text: string): boolean {
  if (!isPostgres(text) || !URL.canParse(text)) return false;
  const { hostname, pathname, searchParams, hash } = new URL(text);
  return (
    (hostname !== '' || searchParams.has('host')) &&
    pathname.length > 1 &&
    // What stands before it is the rest of a password with a slash in it, which would be shown as a database's name.
    !pathname.includes('@') &&
    hash === '' &&
    ![...searchParams.keys()].some((key) => /password/i.test(key))
  );
}

/** The address and the password apart; null when it has none. */
export function withoutPassword(text: string): { readonly url: string; readonly password: string | null } {
  const url = new URL(text);
  const password = url.password === '' ? null : decodeURIComponent(url.password);
  url.password = '';
  return { url: url.href, password };
}

/** For people: whatever stands where a password stands in a URL is left out. */
export function shownAddress(text: string): string {
  if (!isPostgres(text)) return text;
  return text.replace(/^([a-z]+:\/\/[^/@:]*):[^/]*@/, '$1:…@');
}

/** The mirror's own file, for what works on files alone. */
export function sqliteFileOf(database: DatabaseConfig): string {
  if (database.kind === 'sqlite') return database.file;
  throw new Error(`${database.url} is not a file`);
}
