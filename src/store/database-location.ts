/** Location of a mirror's database. */
export type DatabaseLocation = SqliteLocation | PostgresLocation;

export interface SqliteLocation {
  readonly kind: 'sqlite';
  readonly file: string;
}

export interface PostgresLocation {
  readonly kind: 'postgres';
  /** Without the password, so it is safe to show. */
  readonly url: string;
  /**
   * Read each time a connection opens; one that a command prints, after the server refused the one before. Null: the URL is
   * used without a password, and the driver finds one by itself.
   */
  readonly password: { reveal(): Promise<string>; readonly runsCommand?: boolean } | null;
}

/** Returns the connection URL with the password in it. Pass it only to the driver. */
export async function secretUrlOf({ url, password }: PostgresLocation): Promise<string> {
  if (password === null) return url;
  const whole = new URL(url);
  whole.password = encodeURIComponent(await password.reveal());
  return whole.href;
}

/** Returns the location for messages: a file path, or a URL without password and options. */
export function locationText(location: DatabaseLocation): string {
  return location.kind === 'sqlite' ? location.file : addressText(location.url);
}

/** Returns the URL with user, host and database. Passwords and options never appear in a message. */
export function addressText(text: string): string {
  const url = URL.parse(text);
  if (url === null) return 'the PostgreSQL database';
  const { protocol, username, host, pathname } = url;
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`;
}
