import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Answer, type FeedRequest, page } from './answers.js';
import { type Shape, shapes } from './shapes.js';

export interface HostilePlatform {
  readonly baseUrl: string;
  /** The base URL of a platform with only this shape. */
  urlOf(shape: Shape, where: Where): string;
  /** How often that shape was requested. */
  requestsOf(shape: Shape): number;
  close(): Promise<void>;
}

/** Which request gets the shape: the first page of a listing, or a delta page after an empty one. */
export type Where = 'listing' | 'delta';

/** A real server that answers every feed request correctly except one. */
export async function openHostilePlatform(): Promise<HostilePlatform> {
  const requests = new Map<string, number>();
  const answers = new Map<string, Answer>();
  const server = createServer({ maxHeaderSize: 256 * 1024 }, (request, response) => {
    const { no, where, path, search } = partsOf(request);
    if (path !== '/investments') return send(response, { status: 404, body: '{}' });
    const asked = askedBy(search);
    if (whereOf(asked, search) !== where) return send(response, page(asked, []));
    const shape = shapes[no];
    if (shape === undefined) throw new Error(`no hostile shape has number ${no}`);
    requests.set(shape.name, (requests.get(shape.name) ?? 0) + 1);
    // Large responses take longer to build than to read.
    const key = `${no} ${JSON.stringify(asked)}`;
    const answer = answers.get(key) ?? shape.answer(asked);
    answers.clear();
    answers.set(key, answer);
    send(response, answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}`;
  return {
    baseUrl,
    urlOf: (shape, where) => `${baseUrl}/${shapes.indexOf(shape)}/${where}`,
    requestsOf: ({ name }) => requests.get(name) ?? 0,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function partsOf({ url = '/' }: IncomingMessage) {
  const { pathname, searchParams } = new URL(url, 'http://platform');
  const [, no, where, ...path] = pathname.split('/');
  return { no: Number(no), where, path: `/${path.join('/')}`, search: searchParams };
}

function askedBy(search: URLSearchParams): FeedRequest {
  const cursor = search.get('cursor') ?? '';
  const isDelta = search.has('updated_since') || cursor === 'c_listed' || cursor === 'c_read';
  return { mode: isDelta ? 'delta' : 'bootstrap', cursor };
}

function whereOf({ mode }: FeedRequest, search: URLSearchParams): Where | 'sweep' {
  if (mode === 'bootstrap') return 'listing';
  return search.has('updated_since') ? 'sweep' : 'delta';
}

function send(response: ServerResponse, answer: Answer): void {
  const { status = 200, headers = {}, body, chunk, cut = false, raw, hints = 0 } = answer;
  // A client that disconnects is expected.
  response.on('error', () => {});
  if (raw !== undefined) {
    response.socket?.end(raw);
    return;
  }
  for (let hint = 0; hint < hints; hint += 1) response.writeEarlyHints({ link: `</${hint}>; rel=preload` });
  const bytes = Buffer.from(body);
  const length = cut ? bytes.byteLength + 1 : bytes.byteLength;
  const sized = chunk === undefined && status !== 204 && status !== 304;
  response.writeHead(status, { ...headers, ...(sized ? { 'content-length': String(length) } : {}) });
  if (cut) response.write(bytes, () => response.socket?.destroy());
  else if (chunk === undefined) response.end(bytes);
  else void drip(response, bytes, chunk);
}

async function drip(response: ServerResponse, bytes: Buffer, size: number): Promise<void> {
  for (let at = 0; at < bytes.byteLength && !response.destroyed; at += size)
    if (!response.write(bytes.subarray(at, at + size))) await once(response, 'drain').catch(() => {});
  response.end();
}
