import { createServer } from 'node:net';

/** Returns a port that was free a moment ago; the process under test gets it in its configuration. */
export async function freePort(): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (typeof address !== 'object' || address === null) return reject(new Error('no address'));
      server.close(() => resolve(address.port));
    });
  });
}
