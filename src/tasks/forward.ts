import http, { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { BodyBuffer } from '../runtime/body-buffer.js';
import type { Clock } from '../runtime/clock.js';
import { type ConnectionLimits, ConnectionTable } from '../runtime/connection-table.js';
import type { Closable } from '../runtime/lifecycle.js';
import { closeServer, listen } from '../runtime/listening.js';
import { inTime } from './in-time.js';

/** A webhook as it arrived: header names, order and bytes unchanged. */
export interface Arrived {
  /** Names and values in turns, as `IncomingMessage.rawHeaders`. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** The answer of the local receiver, or why there is none: `timeout` means that the sender did not wait any longer. */
export type LocalAnswer = { readonly ms: number } & (
  | { readonly status: number; readonly error: null }
  | { readonly status: null; readonly error: 'connection_failed' | 'timeout' }
);

export interface ForwarderOptions {
  readonly at: { readonly host: string; readonly port: number };
  /** The only path that accepts deliveries; null for any, behind a tunnel that may change it. */
  readonly path: string | null;
  readonly forwardTo: URL;
  readonly clock: Clock;
  /** Requests that it rejects are answered with 401 and not forwarded. */
  readonly accepts: (arrived: Arrived) => boolean;
  readonly onAnswer: (arrived: Arrived, answer: LocalAnswer) => void;
  readonly limits?: Partial<ConnectionLimits>;
}

export interface Forwarder extends Closable {
  readonly host: string;
  readonly port: number;
  /** Sends a webhook once more without a request from the platform. */
  send(arrived: Arrived): Promise<LocalAnswer>;
}

/** Larger than any event. */
const bodyBytesMax = 1024 * 1024;
/**
 * A tunnel makes the listener reachable for everybody, and all its connections come from one address. Beside these bytes,
 * only signed deliveries are in memory.
 */
const forwarderLimits: ConnectionLimits = {
  connections: 1024,
  perAddress: 1024,
  bytes: 32 * bodyBytesMax,
};
/** How long the headers and the whole of a request may take to arrive. */
const [headersMillis, requestMillis] = [5_000, 15_000];
/** How long deliveries in progress may take when the listener closes. */
const closeMillis = 1_000;
/** How long a webhook that rosterd sends by itself may take; the platform waits as long. */
const sendMillis = 15_000;

/** Headers of one connection. All others are passed on. */
const ofConnection = new Set([
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'trailer',
  'content-length',
  'expect',
]);

/**
 * Listens for webhooks and passes each on to `forwardTo`. The sender gets the local answer: its status and body. When
 * the local receiver cannot be reached, the sender's connection is cut, so that it records `connection_failed`.
 * Rejects with the system's error when the address is not available.
 */
export async function openForwarder(options: ForwarderOptions): Promise<Forwarder> {
  const { at, path, clock, accepts, onAnswer } = options;
  const server = createServer({ headersTimeout: headersMillis, requestTimeout: requestMillis });
  const connections = new ConnectionTable({ ...forwarderLimits, ...options.limits });
  connections.serve(server, (request, response) => void receive(request, response));

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || (path !== null && request.url !== path)) return reply(response, 404);
    if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) return reply(response, 413);
    if (request.headers.expect !== undefined) response.writeContinue();
    const body = await bodyOf(request, (bytes) => connections.hold(request, bytes));
    if (body === null) return reply(response, 413);
    const arrived = { headers: request.rawHeaders, body };
    if (!accepts(arrived)) return reply(response, 401);
    connections.prove(request);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    onAnswer(arrived, await forward(options, arrived, gone.signal, response));
  }

  const bound = await listen(server, at.port, at.host);
  return {
    ...bound,
    send: (arrived) => inTime(clock, sendMillis, (late) => forward(options, arrived, late, null)),
    close: () => closeServer(server, clock, closeMillis),
  };
}

/** Passes one webhook on. Never rejects. `back` gets the local answer. */
function forward(
  { forwardTo, clock }: ForwarderOptions,
  { headers, body }: Arrived,
  gone: AbortSignal,
  back: ServerResponse | null,
): Promise<LocalAnswer> {
  const startedAt = clock.monotonic();
  const ms = () => Math.round(clock.monotonic() - startedAt);
  return new Promise((resolve) => {
    const request = (forwardTo.protocol === 'https:' ? https : http).request(forwardTo, {
      method: 'POST',
      agent: false,
      signal: gone,
      headers: [
        ...['Host', forwardTo.host, 'Connection', 'close', 'Content-Length', String(body.length)],
        ...passedOn(headers),
      ],
    });
    request.on('response', (answer) => {
      const status = answer.statusCode ?? 0;
      if (status < 200) return void request.destroy(new Error('not a final status'));
      resolve({ status, error: null, ms: ms() });
      if (back === null) return void answer.resume();
      back.writeHead(status, { 'content-type': answer.headers['content-type'] ?? 'text/plain' });
      answer.on('error', () => back.destroy());
      answer.pipe(back);
    });
    request.on('error', () => {
      const error = gone.aborted ? 'timeout' : 'connection_failed';
      resolve({ status: null, error, ms: ms() });
      back?.destroy();
    });
    request.end(body);
  });
}

function passedOn(headers: readonly string[]): readonly string[] {
  return headers.filter((_, at) => !ofConnection.has((headers[at - (at % 2)] ?? '').toLowerCase()));
}

/** Returns null for a body that is too long or was cut. */
async function bodyOf(request: IncomingMessage, onKept: (bytes: number) => void): Promise<Buffer | null> {
  const body = new BodyBuffer(onKept);
  try {
    for await (const chunk of request as AsyncIterable<Buffer>)
      if (!body.add(chunk, bodyBytesMax)) return null;
  } catch {
    return null;
  }
  return body.whole();
}

const reply = (response: ServerResponse, status: number): void => {
  response.writeHead(status, { connection: 'close' }).end();
};
