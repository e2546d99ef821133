import { createServer, type Server, type ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { SourceName } from '../domain/ids.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { type ConnectionCounts, ConnectionTable } from '../runtime/connection-table.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import { closeServer, listen } from '../runtime/listening.js';
import type { Logger } from '../runtime/logger.js';
import { RareLog } from '../runtime/rare-log.js';
import { parseDelivery } from './parse-event.js';
import { type EventSeen, type Inbox, laneOf } from './ports.js';
import { bodyBytesMax, drained, readBody } from './read-body.js';
import { Refusal, type Result, statusOf } from './refusal.js';
import { type Verdict, verifySignature } from './verify-signature.js';

export interface ReceiverParts {
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly path: string;
  /** The header's full name, for example `Service-Signature`. */
  readonly signatureHeader: string;
  /** Read for every request, so that a rotated secret counts at once. */
  readonly secrets: () => readonly string[];
  /** Asked when none of them signed: what a reading that is under way finds. Null when none is. */
  readonly newestSecrets?: () => Promise<readonly string[] | null>;
  readonly resolveSources: (event: EventSeen) => readonly SourceName[];
  /** Called once the event is on disk, with the sources it belongs to. */
  readonly onAccepted: (event: EventSeen, sources: readonly SourceName[]) => void;
  /** Told of every genuine signature: null when its time was in tolerance, else how far its signer is ahead of this clock. */
  readonly onGenuine?: (signerAheadSeconds: number | null) => void;
  readonly limits?: Partial<ReceiverLimits>;
}

export interface ReceiverLimits {
  readonly headersMillis: number;
  readonly requestMillis: number;
  readonly checkEveryMillis: number;
  /** Keep-alive of a connection that delivered: longer than proxies keep theirs, so that the proxy ends it. */
  readonly restMillis: number;
  readonly connections: number;
  /** Of one address, while all places are taken and it never delivered. */
  readonly perAddress: number;
  /** Of bodies not yet answered, together. */
  readonly bytes: number;
  /** How long a sender waits for the database before it is asked to come again. */
  readonly acceptMillis: number;
}

/** Between two log lines about connections that were closed. */
const closingsLogMillis = 60_000;

/** Node's own defaults wait a minute for headers and five for a body, with no end of connections. */
const receiverLimits: ReceiverLimits = {
  headersMillis: 5000,
  requestMillis: 10_000,
  checkEveryMillis: 1000,
  restMillis: 65_000,
  connections: 2048,
  perAddress: 1024,
  // A thousand of the largest real bodies, at once and unfinished.
  bytes: 32 * 1024 * 1024,
  acceptMillis: 2000,
};

export interface ReceiverStatus {
  readonly results: Readonly<Record<Result, number>>;
  readonly lastAcceptedAt: Instant | null;
  /** Which secret verified the last delivery, counted from 0. */
  readonly lastSecret: number | null;
  readonly connections: ConnectionCounts;
}

export interface Receiver extends Closable {
  listen(port: number, host?: string): Promise<{ readonly host: string; readonly port: number }>;
  status(): ReceiverStatus;
}

/**
 * The one part that faces the internet. It verifies, stores and answers; work happens later, at our own pace.
 * Checks run from the cheapest to the dearest, and nothing is parsed before it is authenticated. Nothing of a
 * request is believed about its origin: `X-Forwarded-*` is not read, so a proxy in front needs no configuration
 * beyond passing the body on unchanged.
 */
export function createReceiver(parts: ReceiverParts): Receiver {
  const limits = { ...receiverLimits, ...parts.limits };
  const results = Object.fromEntries(Object.keys(statusOf).map((name) => [name, 0])) as Record<
    Result,
    number
  >;
  let lastAcceptedAt: Instant | null = null;
  let lastSecret: number | null = null;
  let closing = false;

  /** A server that closed waits for none whose sender hung up, and yet it is being stored: the database must not go before. */
  const underWay = new Set<Promise<void>>();
  const receive: RequestHandler = (request, response) => {
    const taking = take(request, response).finally(() => underWay.delete(taking));
    underWay.add(taking);
    return taking;
  };

  const take = async (request: Request, response: express.Response) => {
    refuseEarly(request);
    // Only a sender who waits for it has an `Expect` that comes this far; the others have begun to send.
    if (request.headers.expect !== undefined) response.writeContinue();
    const body = await readBody(request, (bytes) => connections.hold(request, bytes));
    const now = parts.clock.now();
    const verdict = await verify(request.get(parts.signatureHeader), body, now);
    if (!verdict.ok) {
      if (verdict.problem === 'timestamp_out_of_tolerance') parts.onGenuine?.(verdict.signerAheadSeconds);
      throw new Refusal(verdict.problem);
    }
    parts.onGenuine?.(null);
    connections.prove(request);
    lastSecret = verdict.secret;
    const delivery = parseDelivery(body);
    if (delivery === undefined) throw new Refusal('invalid_payload');
    const { event } = delivery;
    const sources = event.test ? [] : parts.resolveSources(event);
    const receivedAt = instantFromMillis(now);
    const storing = parts.inbox.accept({
      ...event,
      receivedAt,
      body: delivery.body,
      lane: laneOf(sources),
    });
    const stored = await withinMillis(parts.clock, limits.acceptMillis, storing).catch((error: unknown) => {
      workWhenStored(storing, event, sources);
      throw error;
    });
    lastAcceptedAt = receivedAt;
    const result = event.test ? 'test' : sources.length === 0 ? 'ignored' : 'accepted';
    answer(response, stored === 'duplicate' ? 'duplicate' : result);
    response.end();
    // A duplicate nudges as well: the first delivery may have been stored by a process that died right after.
    if (!event.test) parts.onAccepted(event, sources);
  };

  /** Whose sender was sent away and comes again in a minute or in hours: what is on disk by then need not wait for it. */
  const workWhenStored = (
    storing: Promise<unknown>,
    event: EventSeen,
    sources: readonly SourceName[],
  ): void => {
    storing
      .then(() => {
        if (!event.test && !closing) parts.onAccepted(event, sources);
      })
      .catch(() => {});
  };

  /** The first delivery after a rotation may be what has the new secret read. */
  const verify = async (header: string | undefined, body: Uint8Array, now: number): Promise<Verdict> => {
    const verdict = verifySignature(header, body, parts.secrets(), now);
    if (verdict.ok || verdict.problem !== 'signature_mismatch') return verdict;
    const newest = (await parts.newestSecrets?.()) ?? null;
    return newest === null ? verdict : verifySignature(header, body, newest, now);
  };

  const answer = (response: express.Response, result: Result) => {
    results[result] += 1;
    // A connection kept alive would keep a closing server waiting.
    if (closing) response.set('connection', 'close');
    response.status(statusOf[result]).set('content-length', '0');
  };

  const refuse: ErrorRequestHandler = (error: unknown, request, response, _next) => {
    const result = error instanceof Refusal ? error.result : clientError(error) ? 'not_found' : 'defect';
    if (result === 'defect' || result === 'unavailable')
      parts.logger.error(
        { error: error instanceof Refusal ? error.cause : error },
        'a delivery was not taken',
      );
    else parts.logger.debug({ code: result }, 'a request was refused');
    if (response.headersSent || response.destroyed) {
      results[result] += 1;
      request.socket.destroy();
      return;
    }
    if (result === 'unavailable') response.set('retry-after', '5');
    if (result === 'wrong_method') response.set('allow', 'POST');
    answer(response, result);
    if (request.complete) {
      response.end();
      return;
    }
    // The answer goes first; the connection, on which more of the refused body may come, is not used again.
    response.set('connection', 'close').flushHeaders();
    void drained(request, parts.clock).then(() => response.end());
  };

  const closings = new RareLog(parts.clock, closingsLogMillis, (counts) => {
    const count = Object.values(counts).reduce((sum, one) => sum + one, 0);
    const hint = 'rosterd_webhook_connections_closed_total at /metrics counts them by reason';
    parts.logger.warn({ count, code: Object.keys(counts).join(','), hint }, 'connections were closed');
  });
  const connections = new ConnectionTable(limits, (reason) => closings.add(reason));
  const server = serverFor(limits);
  const app = appFor(parts.path, receive, refuse);
  connections.serve(server, (request, response) => {
    // Before routing: strangers ask for it without end, and routing is half of what it costs.
    if (request.method === 'GET' && request.url === '/healthz') answerHealth(response);
    else app(request, response);
  });
  return {
    listen: (port, host = '127.0.0.1') => listen(server, port, host),
    status: () => ({
      ...{ results: { ...results }, lastAcceptedAt, lastSecret },
      connections: connections.counts(),
    }),
    close: async () => {
      closing = true;
      closings.close();
      connections.closeSilent();
      await closeServer(server, parts.clock, limits.requestMillis);
      await Promise.allSettled(underWay);
    },
  };
}

function appFor(path: string, receive: RequestHandler, refuse: ErrorRequestHandler): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', false);
  app.enable('case sensitive routing').enable('strict routing');
  app.post(path, receive);
  app.all(path, () => {
    throw new Refusal('wrong_method');
  });
  app.get('/healthz', (_request, response) => answerHealth(response));
  app.use(() => {
    throw new Refusal('not_found');
  });
  app.use(refuse);
  return app;
}

function answerHealth(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', 'content-length': '3' }).end('ok\n');
}

/** What the headers alone decide. */
function refuseEarly(request: Request): void {
  const declared = request.get('content-length');
  if (declared !== undefined && Number(declared) > bodyBytesMax) throw new Refusal('too_large');
  const type = request.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new Refusal('unsupported_type');
  const encoding = request.get('content-encoding')?.trim().toLowerCase() ?? 'identity';
  // Signed are the bytes on the wire; unpacking them would only serve a bomb.
  if (encoding !== 'identity') throw new Refusal('unsupported_encoding');
}

/** Express marks what a client got wrong in its path, such as a bad % escape, with a 4xx of its own. */
function clientError(error: unknown): boolean {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  return typeof status === 'number' && status >= 400 && status < 500;
}

/** A row written after all makes the sender's next try a duplicate; a 2xx without a row would lose it. */
async function withinMillis<Value>(clock: Clock, millis: number, work: Promise<Value>): Promise<Value> {
  const settled = new Interrupter();
  const late = new Promise<never>((_, reject) => {
    // The error is made when it is needed: made for each delivery, as an AbortController makes one, it took 30 µs of it.
    void clock.wait(millis, settled).then(() => {
      if (!settled.aborted)
        reject(new Refusal('unavailable', new Error('the database did not answer in time')));
    });
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal('unavailable', error);
  } finally {
    settled.abort();
    late.catch(() => {});
    work.catch(() => {});
  }
}

function serverFor(limits: ReceiverLimits): Server {
  return createServer({
    headersTimeout: limits.headersMillis,
    requestTimeout: limits.requestMillis,
    connectionsCheckingInterval: limits.checkEveryMillis,
    keepAliveTimeout: limits.restMillis,
    maxHeaderSize: 8 * 1024,
  });
}
