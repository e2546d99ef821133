import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { lasting, openFloor } from './floors.js';

export interface WebhookFloor {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The minimum of following by webhooks: verify, respond, fetch the page, then upsert and cursor in one FULL
 * commit.
 */
export async function startWebhookFloor(
  file: string,
  feedUrl: string,
  secret: string,
): Promise<WebhookFloor> {
  const floor = openFloor(file, feedUrl, lasting);
  while (await floor.page());
  let reading: Promise<unknown> = Promise.resolve();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const signature = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(request.headers['service-signature']));
      const [, t = '', v1 = ''] = signature ?? [];
      const own = createHmac('sha256', secret).update(`${t}.`).update(Buffer.concat(chunks)).digest();
      const genuine = signature !== null && timingSafeEqual(own, Buffer.from(v1, 'hex'));
      response.writeHead(genuine ? 202 : 401).end();
      if (!genuine) return;
      reading = reading.then(() => floor.page());
      // The error is reported when the floor is closed.
      reading.catch(() => {});
    });
  });
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await reading;
      await floor.close();
    },
  };
}
