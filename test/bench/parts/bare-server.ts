import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Reads each body and answers 202, without looking at it: what Node alone takes for a delivery. */
export async function startBareServer() {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => response.writeHead(202, { 'content-length': '0' }).end());
  });
  server.keepAliveTimeout = 75_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: async () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
