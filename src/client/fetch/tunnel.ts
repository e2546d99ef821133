import { request } from 'node:http';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { systemClock } from '../../runtime/clock.js';
import { Interrupter } from '../../runtime/interruption.js';
import { proxyName, type WebProxy } from '../../runtime/proxy.js';
import { type TlsPeer, tlsProblem } from '../../runtime/tls-problem.js';

/** A proxy that could not be reached, or that did not connect to the server. */
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

const proxyPeer: TlsPeer = { trust: 'platform.ca or in NODE_EXTRA_CA_CERTS', address: 'HTTPS_PROXY' };

/** Returns the failure of a connection to the proxy itself. */
export function unreachableProxy(proxy: WebProxy, error: unknown): ProxyFailure {
  const { code } = error as { readonly code?: unknown };
  const known = typeof code === 'string' ? code : 'no answer';
  const problem = proxy.isSecure ? tlsProblem(known, proxyPeer) : null;
  return new ProxyFailure(
    `the proxy ${proxyName(proxy)} could not be reached: ${problem === null ? known : `${problem.what} (${known})`}`,
    problem?.next ?? 'HTTPS_PROXY names the proxy, NO_PROXY what is reached without it',
    `PROXY_${known.replace(/[^A-Z0-9_]/g, '_')}`,
    problem !== null,
    error,
  );
}

export interface TunnelOptions {
  readonly proxy: WebProxy;
  /** The server behind the proxy, as `host:port`. */
  readonly to: string;
  readonly timeoutMillis: number;
}

/** Asks a proxy, over a connection to it, to connect to a server. After that, the connection is one to that server. */
export function openTunnel(
  socket: Socket,
  { proxy, to, timeoutMillis }: TunnelOptions,
  callback: buildConnector.Callback,
): void {
  const asking = request({
    method: 'CONNECT',
    path: to,
    headers: {
      host: to,
      'user-agent': 'rosterd',
      ...(proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization }),
    },
    createConnection: () => socket,
  });
  const answered = new Interrupter();
  let isOver = false;
  const end = (error: Error | null) => {
    if (isOver) return;
    isOver = true;
    answered.abort();
    if (error === null) return callback(null, socket);
    socket.destroy();
    callback(error, null);
  };
  // Node reports every answer to a CONNECT this way.
  asking.once('connect', ({ statusCode = 0 }, _, early) => {
    if (statusCode < 200 || statusCode > 299) end(refusal(proxy, to, statusCode));
    else if (early.length > 0) end(unreachableProxy(proxy, { code: 'EARLY_BYTES' }));
    else end(null);
  });
  // For the whole answer: between two bytes of it, a proxy that sends one a second would never be late.
  void systemClock
    .wait(timeoutMillis, answered)
    .then(() => end(unreachableProxy(proxy, { code: 'ETIMEDOUT' })));
  asking.on('error', (error) => end(unreachableProxy(proxy, error)));
  asking.end();
}

/** Request Timeout and Too Many Requests: the same request may succeed later. */
const passing: ReadonlySet<number> = new Set([408, 429]);

function refusal(proxy: WebProxy, to: string, status: number): ProxyFailure {
  const next =
    // tinyproxy answers wrong ones with 401.
    status === 407 || status === 401
      ? proxy.authorization === null
        ? 'the proxy asks who you are: put user and password into HTTPS_PROXY, as http://USER:PASSWORD@HOST:PORT'
        : 'the proxy does not accept the user and password in HTTPS_PROXY: correct them; NTLM and Kerberos are not supported'
      : status === 403
        ? `the proxy does not permit ${to}: ask who runs it`
        : `the proxy did not connect to ${to}: check the address, and whether the proxy can reach it`;
  return new ProxyFailure(
    `the proxy ${proxyName(proxy)} answered ${status}`,
    next,
    `PROXY_${status}`,
    status >= 400 && status < 500 && !passing.has(status),
  );
}
