import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { secret } from '../deliveries.js';
import { openLean } from '../lean/mirror.js';
import { sharedNow } from '../shared-time.js';

export interface LeanFloorOptions {
  readonly file: string;
  readonly feedUrl: string;
  readonly companies: readonly string[];
}

/**
 * The lean floor of following by webhooks: verifies, stores the delivery in one commit, answers, and reads a page for
 * every delivery, whatever the budget. A second commit writes the record, the cursor and the settled delivery.
 */
export async function startLeanFloor({ file, feedUrl, companies }: LeanFloorOptions) {
  const mirror = openLean(file, feedUrl, companies);
  for (const source of companies.keys()) await mirror.list(source);
  const reading = companies.map((): Promise<void> => Promise.resolve());
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const signature = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(request.headers['service-signature']));
      const [, t = '', v1 = ''] = signature ?? [];
      const own = createHmac('sha256', secret).update(`${t}.`).update(body).digest();
      if (signature === null || !timingSafeEqual(own, Buffer.from(v1, 'hex'))) {
        response.writeHead(401, { 'content-length': '0' }).end();
        return;
      }
      const { data } = JSON.parse(body.toString()) as { readonly data: { readonly company: string } };
      const source = companies.indexOf(data.company);
      const event = mirror.accept(source, body);
      response.writeHead(202, { 'content-length': '0' }).end();
      const next = (reading[source] ?? Promise.resolve()).then(() => mirror.tick(source, event));
      // The error is reported when the floor is closed.
      next.catch(() => {});
      reading[source] = next;
    });
  });
  server.keepAliveTimeout = 75_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: async () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    /** Reads one page. Returns the milliseconds. */
    tick: async (source: number): Promise<number> => {
      const began = sharedNow();
      await mirror.tick(source, null);
      return sharedNow() - began;
    },
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      try {
        await Promise.all(reading);
      } finally {
        await mirror.close();
      }
    },
  };
}
