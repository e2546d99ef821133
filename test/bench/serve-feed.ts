import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Feed } from './feed.js';

export interface ServedFeed {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the feed over HTTP, each page delayed by that many milliseconds. */
export async function serveFeed(records: number, latencyMs: number): Promise<ServedFeed> {
  const feed = new Feed(records);
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://feed');
    if (request.method === 'POST') {
      response.end(String(feed.change(Number(searchParams.get('no')), searchParams.has('gone'))));
      return;
    }
    const body = feed.page(searchParams);
    const send = () => {
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      });
      response.end(body);
    };
    if (latencyMs > 0) setTimeout(send, latencyMs);
    else send();
  });
  return await served(server);
}

/** Listens on the loopback, by default on a free port. */
export async function served(server: Server, port = 0): Promise<ServedFeed> {
  // Node would cut the idle connection of a reader that is busy for more than five seconds.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
