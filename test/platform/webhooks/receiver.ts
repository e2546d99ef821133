import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The parsed body, untyped for use in tests. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape of what arrived is what a test finds out
  readonly envelope: any;
}

type Answering = (received: Received, response: ServerResponse) => void;

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Sets the response to the next requests. Default 200. */
  answer(how: Answering | number): void;
  /** Resolves when that many requests have arrived. */
  count(wanted: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

/** Starts a webhook receiver on a real socket. */
export async function startReceiver(host = '127.0.0.1'): Promise<Receiver> {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  let how: Answering = (_, response) => response.writeHead(200).end('ok');
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const got = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body,
        envelope: JSON.parse(body),
      };
      received.push(got);
      how(got, response);
      for (const look of [...waiting]) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}/hook`,
    received,
    answer(next) {
      how = typeof next === 'number' ? (_, response) => response.writeHead(next).end() : next;
    },
    count: (wanted) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(
          () => reject(new Error(`${received.length} of ${wanted} requests came`)),
          120_000,
        );
        const look = () => {
          if (received.length < wanted) return;
          clearTimeout(late);
          waiting.delete(look);
          resolve(received);
        };
        waiting.add(look);
        look();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
