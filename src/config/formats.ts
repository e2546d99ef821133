import { isIP } from 'node:net';
import { type IdKind, parseId, parseSourceName } from '../domain/ids.js';
import { maskCredentials } from '../wire/credential-shapes.js';
import { isInMemory, isPostgresUrl } from './database.js';
import { isSourceTemplate } from './source-template.js';

/** Checks of text that a pattern cannot express. They are used by the declarations and by the quick check. */

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '');
  return bare === 'localhost' || bare === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(bare);
}

export interface Listen {
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:8787`, `[::1]:8787`, `localhost:0`; port 0 takes any free one. */
export function parseListen(text: string): Listen | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || !(port <= 65_535) ? undefined : { host, port };
}

const unitMillis: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns `30m`, `6h` or `1d` in milliseconds. */
export function parsePeriod(text: string): number | undefined {
  const match = /^([1-9]\d{0,3})([mhd])$/.exec(text);
  const unit = unitMillis[match?.[2] ?? ''];
  return unit === undefined ? undefined : Number(match?.[1]) * unit;
}

/** Returns the minutes after midnight of `08:30`. */
export function parseTimeOfDay(text: string): number | undefined {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  return match === null ? undefined : Number(match[1]) * 60 + Number(match[2]);
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Requests carry a token, so plain HTTP is allowed only to this machine. */
function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return false;
  }
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/** `10.0.0.5` or `10.0.0.0/28`. A prefix of 0 would be every address. */
function isAddressRange(text: string): boolean {
  const match = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text);
  const version = isIP(match?.[1] ?? '');
  if (version === 0 || (match?.[1] ?? '').includes('%')) return false;
  const prefix = match?.[2];
  return prefix === undefined || (Number(prefix) >= 1 && Number(prefix) <= (version === 4 ? 32 : 128));
}

/** Headers with a meaning of their own, which a client or another proxy sets. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...['accept', 'authorization', 'connection', 'content-length', 'content-type', 'cookie', 'forwarded'],
  ...['host', 'origin', 'proxy-authorization', 'referer', 'sec-fetch-site', 'transfer-encoding', 'upgrade'],
  ...['user-agent', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'],
]);

const isId = (kind: IdKind) => (text: string) => parseId(kind, text) !== undefined;

/** The values of `format` in the configuration's JSON Schema, each with its check. */
export const formats = {
  uri: isWebAddress,
  'redirect-uri': (text: string) => URL.parse(text) !== null && !text.includes('#'),
  'listen-address': (text: string) => parseListen(text) !== undefined,
  'database-address': (text: string) =>
    isPostgresUrl(text) || (/^sqlite:.+/.test(text) && !text.startsWith('sqlite://') && !isInMemory(text)),
  'address-range': isAddressRange,
  'user-header': (text: string) => !ownHeaders.has(text.toLowerCase()),
  'receiver-path': (text: string) => text !== '/healthz',
  'source-name': (text: string) => parseSourceName(text) !== undefined,
  'source-template': isSourceTemplate,
  /** Rejects a secret typed instead of its name, because names are printed. */
  'variable-name': (text: string) => maskCredentials(text) === text,
  'company-id': isId('company'),
  'installation-id': isId('installation'),
  'offering-id': isId('offering'),
  'user-id': isId('user'),
  'time-zone': isTimeZone,
} satisfies Readonly<Record<string, (text: string) => boolean>>;
