import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from '../../../src/runtime/random.js';

/** One address for several hosts, like a load balancer: a host that does not answer soon is skipped. */
export interface Front {
  readonly url: string;
  close(): Promise<void>;
}

const timeoutMillis = 3_000;

export async function openFront(ports: readonly number[], random: Random): Promise<Front> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const first = Math.floor(random.fraction() * ports.length);
      for (let n = 0; n < ports.length; n += 1) {
        const status = await pass(ports[(first + n) % ports.length] ?? 0, request.headers, chunks);
        if (status === null || status >= 500) continue;
        response.writeHead(status).end();
        return;
      }
      response.writeHead(502).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Returns null if no process answers there. */
async function pass(
  port: number,
  { 'content-type': type = '', ...headers }: IncomingHttpHeaders,
  body: readonly Buffer[],
): Promise<number | null> {
  const signed = Object.entries(headers).filter(([name]) => name.endsWith('-signature'));
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/webhooks`, {
      method: 'POST',
      headers: Object.fromEntries([
        ['content-type', type],
        ...signed.map(([name, value]) => [name, String(value)]),
      ]),
      body: Buffer.concat(body),
      signal: AbortSignal.timeout(timeoutMillis),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return null;
  }
}
