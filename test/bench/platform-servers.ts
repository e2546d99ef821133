import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import type { ReadyDocument } from '../../src/platform/sandbox/document.js';
import { startSandbox } from '../../src/platform/sandbox/sandbox.js';
import type { Lifecycle } from '../../src/runtime/lifecycle.js';
import { compiled } from './compiled.js';
import type { Scale } from './measures.js';

/** The body to send for each path including its query. */
export type Bodies = readonly (readonly string[])[];

export type Order =
  | { readonly serve: 'platform'; readonly records: number }
  | { readonly serve: 'bare'; readonly bodies: Bodies };

/** Starts a platform with one company of that many records and no limits, until `parts` close. */
export async function startPlatform(
  { apart }: Scale,
  records: number,
  parts: Lifecycle,
): Promise<ReadyDocument> {
  if (apart) return JSON.parse(await inChild({ serve: 'platform', records }, parts));
  const sandbox = await startSandbox({ companies: 1, records, limits: false });
  parts.add('platform', () => sandbox.close());
  return sandbox.ready;
}

/** Measures loopback and Node alone. Returns the address. */
export async function startBareServer({ apart }: Scale, bodies: Bodies, parts: Lifecycle): Promise<string> {
  if (apart) return inChild({ serve: 'bare', bodies }, parts);
  const { url, close } = await serveBare(bodies);
  parts.add('bare server', close);
  return url;
}

async function inChild(order: Order, parts: Lifecycle): Promise<string> {
  const child = fork(compiled('test/bench/platform-server.ts'), { execArgv: [] });
  parts.add(order.serve, async () => {
    const gone = once(child, 'exit');
    child.disconnect();
    await gone;
  });
  child.send(order);
  const said = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  if (typeof said[0] !== 'string') throw new Error(`the ${order.serve} server did not start`);
  return said[0];
}

/** Sends prepared bytes; on `POST /deliver` it forwards the body to the address it was given. */
export async function serveBare(bodies: Bodies): Promise<{ readonly url: string; close(): Promise<void> }> {
  const prepared = new Map(bodies.map(([path = '', body = '']) => [path, Buffer.from(body)]));
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      if (incoming.url === '/deliver') {
        const { url, body } = JSON.parse(String(Buffer.concat(chunks))) as { url: string; body: string };
        response.writeHead(200).end();
        void request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).then(
          (answer) => answer.body.dump(),
        );
        return;
      }
      const body = prepared.get(incoming.url ?? '');
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
