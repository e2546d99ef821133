import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from './clock.js';

/**
 * Length of the kernel's accept queue, which holds connections while the event loop is busy. In a burst beyond Node's
 * default of 511, handshakes are dropped and repeated a second later. Linux caps the length at `net.core.somaxconn`, by
 * default 4,096.
 */
const backlog = 4096;

/**
 * How long a server keeps an idle connection: longer than the minute after which most proxies and clients close theirs. With
 * Node's five seconds, a client that was busy for longer sends its next request into a connection that is being closed.
 */
export const keptAliveMillis = 65_000;

/** Starts listening; port 0 takes a free port. Rejects with the system's error when the address is not available. */
export function listen(server: Server, port: number, host: string): Promise<{ host: string; port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, backlog, () => {
      server.off('error', reject);
      const { address, port: bound } = server.address() as AddressInfo;
      resolve({ host: address, port: bound });
    });
  });
}

/** Stops accepting connections, lets running requests finish, and closes connections that take longer than `millis`. */
export async function closeServer(server: Server, clock: Clock, millis: number): Promise<void> {
  if (!server.listening) return;
  const closed = new AbortController();
  const closing = new Promise<void>((resolve) => {
    server.close(() => {
      closed.abort();
      resolve();
    });
  });
  server.closeIdleConnections();
  await clock.wait(millis, closed.signal);
  server.closeAllConnections();
  await closing;
}
