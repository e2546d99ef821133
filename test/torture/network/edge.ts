import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { systemClock } from '../../../src/runtime/clock.js';
import { type Random, seededRandom } from '../../../src/runtime/random.js';
import { type EdgeOrder, eachLine, type Line, say } from './orders.js';
import { type Address, Forward } from './proxy.js';
import { direct, openForwards } from './wire.js';

/*
 * The host of the platform: the proxy in front of it, the balancer through which its webhooks go to one of three
 * receivers, and the receiver of notices. The balancer and that receiver write down what they saw.
 */

const timeoutMillis = 3_000;

export async function runEdge(order: EdgeOrder): Promise<void> {
  const random = seededRandom(order.seed);
  const forwards = await openForwards(order.forwards, order.seed);
  const platform = new Forward(order.platform.from, order.platform.to, order.seed, true);
  await platform.listen();
  const receivers = order.forwards.map(({ from }) => from);
  await listen(order.sender, (request, response) => {
    void bodyOf(request).then(async (body) => {
      if (body === null) return;
      appendFileSync(order.sent, `${JSON.stringify({ id: idOf(body) })}\n`);
      const status = await balanced(request, body, receivers, random);
      if (status !== null && status >= 200 && status < 300)
        appendFileSync(order.accepted, `${JSON.stringify({ id: idOf(body), at: systemClock.now() })}\n`);
      response.writeHead(status ?? 502).end();
    });
  });
  await listen(order.noticeReceiver, (request, response) => {
    void bodyOf(request).then((body) => {
      if (body === null) return;
      const { source, id, seq, after } = JSON.parse(body.toString()) as Record<string, unknown>;
      const { 'webhook-id': message, 'webhook-timestamp': sentAt } = request.headers;
      const notice = { at: systemClock.now(), sentAt: Number(sentAt), message, source, id, seq, after };
      appendFileSync(order.notices, `${JSON.stringify(notice)}\n`);
      response.writeHead(204).end();
    });
  });
  say({ ready: true });
  await eachLine((line) => {
    if (line.op === 'call') void call(line, order.platform.to);
    else direct(forwards, line);
  });
  process.exit(0);
}

async function listen({ host, port }: Address, handler: RequestListener): Promise<void> {
  const server = createServer(handler);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
}

/** Returns null for a request that was cut off, which is as good as none. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of request) pieces.push(piece as Buffer);
  } catch {
    return null;
  }
  return Buffer.concat(pieces);
}

const idOf = (body: Buffer): string => (JSON.parse(body.toString()) as { id: string }).id;

/** Returns the first answer that is not an error of a server; null if no receiver gave one. */
async function balanced(
  { headers }: IncomingMessage,
  body: Buffer,
  receivers: readonly Address[],
  random: Random,
): Promise<number | null> {
  const first = Math.floor(random.fraction() * receivers.length);
  const passed = Object.entries(headers).filter(
    ([name]) => name.endsWith('-signature') || name === 'content-type',
  );
  for (let n = 0; n < receivers.length; n += 1) {
    const to = receivers[(first + n) % receivers.length];
    const status = await fetch(`http://${to?.host}:${to?.port}/webhooks`, {
      method: 'POST',
      headers: Object.fromEntries(passed.map(([name, value]) => [name, String(value)])),
      body: new Uint8Array(body),
      signal: AbortSignal.timeout(timeoutMillis),
    }).then(
      async (answer) => {
        await answer.arrayBuffer().catch(() => {});
        return answer.status;
      },
      () => null,
    );
    // A host whose clock is wrong, or that does not know a new secret yet, refuses what another one takes.
    if (status !== null && status < 500 && status !== 401) return status;
  }
  return null;
}

/** A request of the director to the platform, which answers on this host only. */
async function call({ id, method, path, headers, body }: Line & { op: 'call' }, to: Address): Promise<void> {
  try {
    const answer = await fetch(`http://${to.host}:${to.port}${path}`, {
      method,
      headers: { ...(body === null ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === null ? {} : { body }),
      signal: AbortSignal.timeout(20_000),
    });
    say({ id, status: answer.status, body: await answer.text() });
  } catch {
    say({ id, status: 0, body: '' });
  }
}
