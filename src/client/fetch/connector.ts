import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { ProxyFor, WebProxy } from '../../runtime/proxy.js';
import { openTunnel, unreachableProxy } from './tunnel.js';

export interface ConnectorOptions {
  /** Once for the connection, and once more for TLS. */
  readonly timeoutMillis: number;
  readonly ca: readonly string[] | null;
  /** Whether a request waits for the head of its response. */
  readonly isAwaited: () => boolean;
  readonly proxyFor: ProxyFor;
  /** Receives each connection until it is closed, also before undici knows it. */
  readonly open?: Set<Socket>;
}

/**
 * Returns undici's own connector, except that it resets a connection on which a request was given up. Of a connection
 * that is only closed, the system sends for minutes what the other side has not acknowledged. After an interruption of
 * the network, a request could arrive after its own repetition: a refresh token that is used again looks stolen and
 * ends the sign-in.
 */
export function openConnector({
  timeoutMillis,
  ca,
  isAwaited,
  proxyFor,
  open = new Set(),
}: ConnectorOptions): buildConnector.connector {
  const trusted = ca === null ? {} : { ca: [...ca] };
  const plain = buildConnector({ timeout: timeoutMillis });
  const secure = buildConnector({ timeout: timeoutMillis, ...trusted });
  // A tunnel is asked for in HTTP/1.1.
  const secureToProxy = buildConnector({ timeout: timeoutMillis, ...trusted, allowH2: false });

  const connect = (hostname: string, port: string, callback: buildConnector.Callback) =>
    plain({ hostname, protocol: 'http:', port }, (error, socket) => {
      if (error !== null) return callback(error, null);
      resetWhenGivenUp(socket, isAwaited);
      open.add(socket);
      socket.once('close', () => open.delete(socket));
      callback(null, socket);
    });

  const connectThrough = (proxy: WebProxy, to: string, callback: buildConnector.Callback) => {
    const { hostname, port, isSecure } = proxy;
    const ask: buildConnector.Callback = (error, socket) => {
      if (error !== null) callback(unreachableProxy(proxy, error), null);
      else openTunnel(socket, { proxy, to, timeoutMillis }, callback);
    };
    connect(hostname, port, (error, socket) => {
      if (error !== null) ask(error, null);
      else if (isSecure)
        secureToProxy(
          { hostname, host: bracketed(hostname), protocol: 'https:', port, httpSocket: socket },
          ask,
        );
      else ask(null, socket);
    });
  };

  return (options, callback) => {
    const isSecure = options.protocol === 'https:';
    const port = options.port || (isSecure ? '443' : '80');
    const host = bracketed(options.hostname);
    const opened: buildConnector.Callback = (error, socket) => {
      if (error !== null) callback(error, null);
      else if (isSecure) secure({ ...options, host, httpSocket: socket }, callback);
      else callback(null, socket);
    };
    const proxy = proxyFor(new URL(`${options.protocol}//${host}:${port}`));
    if (proxy === null) connect(options.hostname, port, opened);
    else connectThrough(proxy, `${host}:${port}`, opened);
  };
}

/** As undici has to have it: of an IPv6 address without brackets, it would take the first digits for the name of the server. */
const bracketed = (hostname: string): string => (hostname.includes(':') ? `[${hostname}]` : hostname);

/** A connection with TLS destroys the one below it, too. */
function resetWhenGivenUp(socket: Socket, isAwaited: () => boolean): void {
  const { destroy } = socket;
  socket.destroy = (error) => {
    // A reset may destroy it at once, and the error must not be lost.
    socket.destroy = () => destroy.call(socket, error);
    // Alone, it would wait until everything is written.
    if (!socket.destroyed && isAwaited()) socket.resetAndDestroy();
    return socket.destroy();
  };
}
