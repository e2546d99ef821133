import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from './clock.js';

/** Starts listening; port 0 takes a free one. Rejects with the system's error when the address cannot be had. */
export function listen(server: Server, port: number, host: string): Promise<{ host: string; port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
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
