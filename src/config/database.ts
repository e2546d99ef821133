import type { Secret } from './secrets.js';

/** The database that stores the mirror. */
export type DatabaseConfig = SqliteConfig | PostgresConfig;

export interface SqliteConfig {
  readonly kind: 'sqlite';
  readonly file: string;
}

export interface PostgresConfig {
  readonly kind: 'postgres';
  /** Without the password, so that it can be printed. */
  readonly url: string;
  /** Null leaves it to PGPASSWORD, ~/.pgpass, or a server that requires none. */
  readonly password: Secret | null;
}

const postgresScheme = /^postgres(?:ql)?:\/\//;

export const isPostgres = (text: string): boolean => postgresScheme.test(text);

/** Returns whether the text is the URL of an unsupported database server; a file path has no scheme. */
export const isOtherServer = (text: string): boolean =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && !isPostgres(text) && !text.startsWith('sqlite:');

/** Returns whether the text is the name that SQLite has for a database in memory: the mirror would be a file of that name. */
export const isInMemory = (text: string): boolean => /^(?:sqlite:)?:memory:$/.test(text);

/** Why a mirror is a file. */
export const notInMemory = 'a mirror is a file, which other processes read, too';

/**
 * Returns whether the text is a URL with a host (or a socket folder in `?host=`) and a database. A password may stand
 * only in the user part of the URL, so that `withoutPassword` finds it. The driver ignores an option that it does not know,
 * and would connect without TLS if `sslmode` were misspelt.
 */
export function isPostgresUrl(text: string): boolean {
  const url = isPostgres(text) ? URL.parse(text) : null;
  if (url === null) return false;
  const { hostname, pathname, searchParams, hash, username, password } = url;
  return (
    [username, password, pathname].every(isDecodable) &&
    (hostname !== '' || searchParams.has('host')) &&
    pathname.length > 1 &&
    // An `@` here means that the password contains a slash, so the rest of it would be printed as the database name.
    !pathname.includes('@') &&
    hash === '' &&
    [...searchParams].every(([key, value]) => !/password/i.test(key) && isTlsOption(key, value) !== false)
  );
}

/** Those of the driver, and those that only libpq knows, of which none switches TLS on: `pg_dump` gets the same URL. */
const tlsOptions: readonly string[] = [
  ...['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'],
  ...['sslcompression', 'sslcertmode', 'sslcrl', 'sslcrldir', 'sslsni'],
  ...['ssl_min_protocol_version', 'ssl_max_protocol_version'],
];

/** Returns whether an option about TLS exists and has a value; null for other options. */
function isTlsOption(key: string, value: string): boolean | null {
  return /^(?:ssl|tls)/i.test(key) ? tlsOptions.includes(key) && value !== '' : null;
}

/** Returns whether every `%` begins an escape such as `%25`, the one of `%` itself. */
function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

/** Splits the password from the address; null when there is none. */
export function withoutPassword(text: string): { readonly url: string; readonly password: string | null } {
  const url = new URL(text);
  if (url.hostname === '') moveHost(url);
  const password = url.password === '' ? null : decodeURIComponent(url.password);
  url.password = '';
  return { url: url.href, password };
}

/**
 * Moves host, port and user from the options to the places that a URL has for them: a URL without a host cannot contain the password
 * that `databasePassword` adds.
 */
function moveHost(url: URL): void {
  const take = (option: string): string => {
    const value = url.searchParams.get(option) ?? '';
    url.searchParams.delete(option);
    return value;
  };
  url.hostname = encodeURIComponent(take('host'));
  url.port = take('port');
  const user = take('user');
  if (user !== '') url.username = encodeURIComponent(user);
}

/** Returns the address for printing, without a password even when the URL is malformed. A user name may contain an `@`. */
export function shownAddress(text: string): string {
  if (!isPostgres(text)) return text;
  return text.replace(isPostgresUrl(text) ? valid : malformed, '$1:…@');
}

const valid = /^([a-z]+:\/\/[^/:]*):[^/]*@/;
/** Its password may contain a slash. */
const malformed = /^([a-z]+:\/\/[^/:]*):.*@/;

/** Returns the SQLite file of the mirror. Throws for PostgreSQL. */
export function sqliteFileOf(database: DatabaseConfig): string {
  if (database.kind === 'sqlite') return database.file;
  throw new Error(`${database.url} is not a file`);
}
