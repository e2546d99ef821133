/** Where a mirror is kept. */
export type MirrorPlace = SqlitePlace | PostgresPlace;

export interface SqlitePlace {
  readonly kind: 'sqlite';
  readonly file: string;
}

export interface PostgresPlace {
  readonly kind: 'postgres';
  /** Without its password: it may be shown. */
  readonly url: string;
  /** Asked for at each opening; null leaves it to the surroundings. */
  readonly password: { reveal(): Promise<string> } | null;
}

/** What to connect to, with everything secret in it: to be handed to the driver and to nobody else. */
export async function secretUrlOf({ url, password }: PostgresPlace): Promise<string> {
  if (password === null) return url;
  const whole = new URL(url);
  whole.password = encodeURIComponent(await password.reveal());
  return whole.href;
}

/** For messages: a file, or an address without its password and options. */
export function placeText(place: MirrorPlace): string {
  return place.kind === 'sqlite' ? place.file : addressText(place.url);
}

/** Users and hosts help whoever reads a message; passwords and options never stand in one. */
export function addressText(text: string): string {
  if (!URL.canParse(text)) return 'the PostgreSQL database';
  const { protocol, username, host, pathname } = new URL(text);
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`;
}
