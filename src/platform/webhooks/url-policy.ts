import { isIP } from 'node:net';
import { isLoopbackAddress, isPublicAddress } from './blocked-addresses.js';

/** An accepted endpoint URL, and the addresses its host may resolve to. */
export interface Target {
  readonly url: URL;
  /** The host without the brackets of an IPv6 literal. */
  readonly host: string;
  permits(address: string): boolean;
}

export type Verdict =
  | { readonly ok: true; readonly target: Target }
  | { readonly ok: false; readonly why: string };

/** Suffixes of names for this machine or the local network. A public name has a dot and none of these suffixes. */
const privateSuffixes = [
  'localhost',
  'local',
  'localdomain',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'home.arpa',
  'in-addr.arpa',
  'ip6.arpa',
];

/** Ports below this belong to services such as mail, file shares and remote shells. */
const unprivilegedPort = 1024;

/**
 * Checks an endpoint URL without resolving its host. `URL` normalizes every notation of an IPv4 address (octal, hex,
 * integer, short, full-width), so the parsed URL is checked rather than the text. `guardedLookup` checks the resolved
 * addresses on every connection.
 */
export function judgeUrl(text: string, loopbackAllowed: boolean): Verdict {
  // `URL` removes tabs and line breaks and converts backslashes. Reject text that needs this.
  if (/[\s\p{Cc}\\]/u.test(text))
    return refused('must not contain spaces, control characters or backslashes');
  const url = /^https?:\/\/[^/]/i.test(text) ? URL.parse(text) : null;
  if (url === null) return refused('is not an https:// URL');
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)) {
    return refused('must not carry a user name or a password');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (host.endsWith('.')) return refused('must not end its host with a dot');
  if (loopbackAllowed && (host === 'localhost' || isLoopbackAddress(host))) {
    return { ok: true, target: { url, host, permits: isLoopbackAddress } };
  }
  if (url.protocol !== 'https:') return refused('must use https');
  const port = Number(url.port === '' ? 443 : url.port);
  if (port !== 443 && port < unprivilegedPort) return refused('must use port 443 or one from 1024 up');
  if (isIP(host) !== 0) {
    if (!isPublicAddress(host)) return refused('must be a public address');
  } else if (!isPublicName(host)) {
    return refused('must be a public host name');
  }
  return { ok: true, target: { url, host, permits: isPublicAddress } };
}

function isPublicName(host: string): boolean {
  const labels = host.split('.');
  if (labels.length < 2 || host.length > 253) return false;
  if (!labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))) return false;
  return !privateSuffixes.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}

const refused = (why: string): Verdict => ({ ok: false, why: `The URL ${why}.` });
