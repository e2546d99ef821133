import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Returns a port that was free a moment ago; the process under test gets it in its configuration. */
export const freePort = (): Promise<number> => listenOnce(0);

/**
 * Returns a port that the system gives to no program that asks for any free port, so that a server can be stopped and started
 * again on it. Linux assigns ports from 32768.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = await listenOnce(randomInt(12_000, 32_000)).catch(() => null);
    if (port !== null) return port;
  }
}

function listenOnce(wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
      .once('error', reject)
      .listen(wanted, '127.0.0.1', () => {
        const address = server.address();
        if (typeof address !== 'object' || address === null) return reject(new Error('no address'));
        server.close(() => resolve(address.port));
      });
  });
}
