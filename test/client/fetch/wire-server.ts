import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface WireServer {
  readonly url: string;
  readonly requests: IncomingMessage[];
}

/** Starts a real server on a free loopback port; it closes with the test. */
export async function listen(handle: RequestListener, options: ServerOptions = {}): Promise<WireServer> {
  const requests: IncomingMessage[] = [];
  const server: Server = createServer(options, (request, response) => {
    requests.push(request);
    handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
