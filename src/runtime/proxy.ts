import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { Fault } from '../domain/fault.js';
import { hostAndPort } from '../domain/host-and-port.js';
import { causesOf } from './error-codes.js';

/** A server that connects to others on behalf of this host, as in networks that let nothing else out. */
export interface WebProxy {
  readonly hostname: string;
  readonly port: string;
  /** Whether the connection to the proxy itself uses TLS. */
  readonly isSecure: boolean;
  /** The value of `Proxy-Authorization`: contains a password. */
  readonly authorization: string | null;
}

/** Without user and password, which no message and no log contains. */
export const proxyName = ({ hostname, port, isSecure }: WebProxy): string =>
  `${isSecure ? 'https' : 'http'}://${hostAndPort(hostname, port)}`;

/** A proxy that could not be reached, or that did not connect to the server. Its texts name the proxy, and not the server. */
export class ProxyFailure extends Error {
  constructor(
    readonly what: string,
    readonly next: string,
    /** Stands where the code of an error of Node stands. */
    readonly code: string,
    /** Whether it stays until a person does something. */
    readonly lasting: boolean,
    cause?: unknown,
  ) {
    super(what, { cause });
  }
}

/** Returns the failure of the proxy among an error and its causes, or null. */
export const proxyFailureIn = (error: unknown): ProxyFailure | null =>
  causesOf(error).find((one) => one instanceof ProxyFailure) ?? null;

/** Returns the proxy for an address, or null for those that are connected to directly. */
export type ProxyFor = (url: URL) => WebProxy | null;

export const noProxy: ProxyFor = () => null;

/** The variables of an environment that name a proxy. One may contain a password. */
export interface ProxyVariables {
  readonly https_proxy?: string;
  readonly HTTPS_PROXY?: string;
  readonly no_proxy?: string;
  readonly NO_PROXY?: string;
}

/**
 * Reads `HTTPS_PROXY` and `NO_PROXY` as other programs do: names in small letters win, and an empty value is none. Only https
 * addresses use a proxy, and those of this host never do. Throws `usage` for a value that names no proxy.
 */
export function proxiesOf(env: ProxyVariables): ProxyFor {
  const proxy = proxyFrom(env);
  if (proxy === null) return noProxy;
  const isExcepted = exceptionsIn(env.no_proxy ?? env.NO_PROXY ?? '');
  return (url) => {
    const host = url.hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
    const port = url.port === '' ? '443' : url.port;
    return url.protocol !== 'https:' || isOwn(host) || isExcepted(host, port) ? null : proxy;
  };
}

function proxyFrom(env: ProxyVariables): WebProxy | null {
  const variable = env.https_proxy === undefined ? 'HTTPS_PROXY' : 'https_proxy';
  const value = env[variable]?.trim() ?? '';
  if (value === '') return null;
  const url = URL.parse(value.includes('://') ? value : `http://${value}`);
  if (url === null || url.hostname === '') throw noAddress(variable, 'is not the address of a proxy');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw noAddress(variable, `names a proxy for ${url.protocol.slice(0, -1)}, which rosterd cannot use`);
  // A password with a / that is not encoded: what comes before it would be taken for the proxy, and shown.
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw noAddress(variable, 'has something behind the port of the proxy');
  const isSecure = url.protocol === 'https:';
  return {
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isSecure ? '443' : '80') : url.port,
    isSecure,
    authorization: authorizationOf(url, variable),
  };
}

function authorizationOf({ username, password }: URL, variable: string): string | null {
  if (username === '' && password === '') return null;
  try {
    const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(text).toString('base64')}`;
  } catch {
    throw noAddress(variable, 'has a user or password with a % that encodes no character (write it as %25)');
  }
}

/** Does not show the value, which may contain a password. */
const noAddress = (variable: string, what: string) =>
  new Fault('usage', `${variable} ${what}`, {
    hint: 'Write it as http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, with %2F for a / and %23 for a # in the password, or remove it from the environment.',
  });

const thisHost = new BlockList();
thisHost.addSubnet('127.0.0.0', 8, 'ipv4');
thisHost.addAddress('::1', 'ipv6');

const isOwn = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || isWithin(thisHost, host);

function isWithin(list: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

type IsExcepted = (host: string, port: string) => boolean;

/** `example.com` and `.example.com` except that name and all below it; `10.0.0.0/8` a network; `*` everything. */
function exceptionsIn(text: string): IsExcepted {
  const rules = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((entry) => exceptionOf(entry.toLowerCase()));
  return (host, port) => rules.some((rule) => rule(host, port));
}

function exceptionOf(entry: string): IsExcepted {
  if (entry === '*') return () => true;
  const network = networkOf(entry);
  if (network !== null) return (host) => isWithin(network, host);
  // Of an address such as https://example.com/path, host and port.
  const place = entry.replace(/^[a-z]+:\/\/([^/]*).*$/, '$1');
  const [, name = place, port] = /^(\[.*\]|[^:]*):(\d+)$/.exec(place) ?? [];
  const plain = name.replace(/^\[|\]$/g, '').replace(/^\*?\.|\.$/g, '');
  // The host of an address is in ASCII.
  const wanted = /^[ -~]*$/.test(plain) ? plain : domainToASCII(plain);
  // An address may be written in several ways.
  const address = networkOf(`${wanted}/${isIP(wanted) === 4 ? 32 : 128}`);
  return (host, at) =>
    (port === undefined || port === at) &&
    wanted !== '' &&
    (address === null
      ? isIP(host) === 0 && (host === wanted || host.endsWith(`.${wanted}`))
      : isWithin(address, host));
}

function networkOf(entry: string): BlockList | null {
  const [, address = '', bits = ''] = /^([\d.]+|[\da-f:]+)\/(\d{1,3})$/.exec(entry) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return null;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return list;
}
