import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { systemClock } from '../../runtime/clock.js';
import { Interrupter } from '../../runtime/interruption.js';
import { ProxyFailure, proxyName, type WebProxy } from '../../runtime/proxy.js';
import { type TlsPeer, tlsProblem } from '../../runtime/tls-problem.js';

const proxyPeer: TlsPeer = {
  trust: 'NODE_EXTRA_CA_CERTS in the environment of rosterd',
  address: 'HTTPS_PROXY',
};

/** Returns the failure of a connection to the proxy itself. */
export function unreachableProxy(proxy: WebProxy, error: unknown): ProxyFailure {
  const { code } = error as { readonly code?: unknown };
  const known = typeof code === 'string' ? code : 'no answer';
  const problem = proxy.isSecure ? tlsProblem(known, proxyPeer) : null;
  return new ProxyFailure(
    `the proxy ${proxyName(proxy)} could not be reached: ${problem === null ? known : `${problem.what} (${known})`}`,
    problem?.next ??
      (known === 'NO_HTTP'
        ? 'check the port in HTTPS_PROXY, and whether the address begins with http or https there'
        : 'HTTPS_PROXY names the proxy, NO_PROXY what is reached without it'),
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

/**
 * Asks a proxy, over a connection to it, to connect to a server. After that, the connection is one to that server. Not
 * done with Node's HTTP client, which takes an interim answer to a CONNECT, such as 103, for the last one.
 */
export function openTunnel(
  socket: Socket,
  { proxy, to, timeoutMillis }: TunnelOptions,
  callback: buildConnector.Callback,
): void {
  const answered = new Interrupter();
  const end = (error: Error | null) => {
    if (answered.aborted) return;
    answered.abort();
    socket.off('readable', read);
    if (error === null) return callback(null, socket);
    socket.destroy();
    callback(error, null);
  };
  const fail = (code: string) => end(unreachableProxy(proxy, { code }));
  let text = '';
  const read = () => {
    text += (socket.read() as Buffer | null)?.toString('latin1') ?? '';
    const answer = text.length > bytesMax ? 'no HTTP' : lastAnswerIn(text);
    if (answer === 'incomplete') return;
    if (answer === 'no HTTP') fail('NO_HTTP');
    else if (answer.status > 299) end(refusal(proxy, answer.status));
    else if (answer.early !== '') fail('EARLY_BYTES');
    else end(null);
  };
  socket.on('readable', read);
  socket.on('error', (error) => end(unreachableProxy(proxy, error)));
  socket.on('close', () => fail('ECONNRESET'));
  // For the whole answer: between two bytes of it, a proxy that sends one a second would never be late.
  void systemClock.wait(timeoutMillis, answered).then(() => fail('ETIMEDOUT'));
  const authorization = proxy.authorization === null ? [] : [`Proxy-Authorization: ${proxy.authorization}`];
  socket.write(
    [`CONNECT ${to} HTTP/1.1`, `Host: ${to}`, 'User-Agent: rosterd', ...authorization, '', ''].join('\r\n'),
  );
}

/** For the heads of all answers: as many as Node accepts in the head of any response. */
const bytesMax = 16_384;

/** Skips interim answers, such as 100 and 103. Returns the status of the last answer, and what follows its head. */
function lastAnswerIn(text: string): { status: number; early: string } | 'incomplete' | 'no HTTP' {
  const [head] = /^.*?\r?\n\r?\n/s.exec(text) ?? [];
  if (head === undefined) return 'HTTP/1.'.startsWith(text.slice(0, 7)) ? 'incomplete' : 'no HTTP';
  const status = Number(/^HTTP\/1\.\d (\d{3})\b/.exec(head)?.[1] ?? 0);
  const early = text.slice(head.length);
  if (status < 100) return 'no HTTP';
  return status < 200 ? lastAnswerIn(early) : { status, early };
}

/** Request Timeout and Too Many Requests: the same request may succeed later. */
const passing: ReadonlySet<number> = new Set([408, 429]);

function refusal(proxy: WebProxy, status: number): ProxyFailure {
  const next =
    // tinyproxy answers wrong ones with 401.
    status === 407 || status === 401
      ? proxy.authorization === null
        ? 'the proxy asks who you are: put user and password into HTTPS_PROXY, as http://USER:PASSWORD@HOST:PORT'
        : 'the proxy does not accept the user and password in HTTPS_PROXY: correct them; NTLM and Kerberos are not supported'
      : status === 403
        ? 'the proxy does not permit this host and port: ask who runs it'
        : 'the proxy did not connect: check the address, and whether the proxy can reach it';
  return new ProxyFailure(
    `the proxy ${proxyName(proxy)} answered ${status}`,
    next,
    `PROXY_${status}`,
    status >= 400 && status < 500 && !passing.has(status),
  );
}
