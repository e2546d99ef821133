import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

export interface ConnectorOptions {
  /** Once for the connection, and once more for TLS. */
  readonly timeoutMillis: number;
  readonly ca: readonly string[] | null;
  /** Whether a request waits for the head of its response. */
  readonly isAwaited: () => boolean;
}

/**
 * Returns undici's own connector, except that it resets a connection on which a request was given up. Of a connection
 * that is only closed, the system sends for minutes what the other side has not acknowledged. After an interruption of
 * the network, a request could arrive after its own repetition: a refresh token that is used again looks stolen and
 * ends the sign-in.
 */
export function openConnector({ timeoutMillis, ca, isAwaited }: ConnectorOptions): buildConnector.connector {
  const plain = buildConnector({ timeout: timeoutMillis });
  const secure = buildConnector({ timeout: timeoutMillis, ...(ca === null ? {} : { ca: [...ca] }) });
  return (options, callback) => {
    const isSecure = options.protocol === 'https:';
    const port = options.port || (isSecure ? '443' : '80');
    plain({ hostname: options.hostname, protocol: 'http:', port }, (error, socket) => {
      if (error !== null) return callback(error, null);
      resetWhenGivenUp(socket, isAwaited);
      if (isSecure) secure({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    });
  };
}

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
