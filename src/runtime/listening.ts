import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from './clock.js';

/**
 * Connections that wait in the kernel while the event loop is busy. Beyond Node's default of 511 a burst loses the end
 * of its handshakes and repeats it a second later; Linux caps this at `net.core.somaxconn`, 4,096 unless set.
 */
const backlog = 4096;

/** Starts listening; port 0 takes a free one. Rejects with the system's error when the address cannot be had. */
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

/** Takes no more, lets requests under way finish, and cuts off what takes longer than `millis`. */
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
