import { createServer, type Server, type ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { SourceName } from '../domain/ids.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { type ConnectionCounts, ConnectionTable } from '../runtime/connection-table.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import { closeServer, keptAliveMillis, listen } from '../runtime/listening.js';
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
  /** Full name of the header, for example `Service-Signature`. */
  readonly signatureHeader: string;
  /** Called for every request, so a rotated secret applies at once. */
  readonly secrets: () => readonly string[];
  /** Called when no secret matches: resolves with the result of a reload in progress, or null when there is none. */
  readonly newestSecrets?: () => Promise<readonly string[] | null>;
  readonly resolveSources: (event: EventSeen) => readonly SourceName[];
  /** Called once the event is stored, with the sources it belongs to. */
  readonly onAccepted: (event: EventSeen, sources: readonly SourceName[]) => void;
  /**
   * Called for every genuine signature: with null when its time is within tolerance, else with how far its signer's
   * clock is ahead of ours.
   */
  readonly onGenuine?: (signerAheadSeconds: number | null) => void;
  readonly limits?: Partial<ReceiverLimits>;
}

export interface ReceiverLimits {
  readonly headersMillis: number;
  readonly requestMillis: number;
  readonly checkEveryMillis: number;
  /** Keep-alive of a connection that delivered: longer than the proxy's, so that the proxy closes it. */
  readonly restMillis: number;
  readonly connections: number;
  /** Limit per address for connections that never delivered, while all connections are in use. */
  readonly perAddress: number;
  /** Total bytes of bodies not answered yet. */
  readonly bytes: number;
  /** How long a sender waits for the database before it gets a 503. */
  readonly acceptMillis: number;
  /** How long a close waits for requests that have not arrived completely: no connection is accepted meanwhile. */
  readonly closeMillis: number;
}

/** Interval between two log lines about closed connections, about wrong signatures, or about deliveries that failed. */
const rareLogMillis = 60_000;

/** Node's defaults wait a minute for headers and five for a body, with no limit on connections. */
const receiverLimits: ReceiverLimits = {
  headersMillis: 5000,
  requestMillis: 10_000,
  checkEveryMillis: 1000,
  restMillis: keptAliveMillis,
  connections: 2048,
  perAddress: 1024,
  // A thousand of the largest real bodies, unfinished at the same time.
  bytes: 32 * 1024 * 1024,
  acceptMillis: 2000,
  closeMillis: 1000,
};

export interface ReceiverStatus {
  readonly results: Readonly<Record<Result, number>>;
  readonly connections: ConnectionCounts;
}

export interface Receiver extends Closable {
  listen(port: number, host?: string): Promise<{ readonly host: string; readonly port: number }>;
  status(): ReceiverStatus;
}

/**
 * Creates the only part that faces the internet. It verifies, stores and responds; the work happens later. Checks run
 * from the cheapest to the most expensive, and nothing is parsed before it is authenticated. A request's claims about
 * its origin are ignored: `X-Forwarded-*` is not read, so a proxy in front only has to pass the body on unchanged.
 */
export function createReceiver(parts: ReceiverParts): Receiver {
  const limits = { ...receiverLimits, ...parts.limits };
  const results = Object.fromEntries(Object.keys(statusOf).map((name) => [name, 0])) as Record<
    Result,
    number
  >;
  let closing = false;

  /**
   * A closed server does not wait for a delivery whose sender disconnected. That delivery may still be being stored,
   * so the database must stay open.
   */
  const inProgress = new Set<Promise<void>>();
  const receive: RequestHandler = (request, response) => {
    const handling = handle(request, response).finally(() => inProgress.delete(handling));
    inProgress.add(handling);
    return handling;
  };

  const handle = async (request: Request, response: express.Response) => {
    refuseEarly(request);
    // Only a sender that waits for 100 Continue has `Expect` set here; the others have begun to send.
    if (request.headers.expect !== undefined) response.writeContinue();
    const body = await readBody(request, (bytes) => connections.hold(request, bytes));
    const now = parts.clock.now();
    requireGenuine(await verify(request.get(parts.signatureHeader), body, now));
    connections.prove(request);
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
    const result = event.test ? 'test' : sources.length === 0 ? 'ignored' : 'accepted';
    answer(response, stored === 'duplicate' ? 'duplicate' : result);
    response.end();
    // A duplicate nudges as well: the first delivery may have been stored by a process that died right after.
    if (!event.test) parts.onAccepted(event, sources);
  };

  /**
   * Nudges the sources once a delivery that got a 503 is stored after all. Its sender retries in a minute or in
   * hours, and the stored event need not wait for that.
   */
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

  /**
   * Verifies against the current secrets, then against a reload in progress: the first delivery after a rotation may
   * trigger it.
   */
  const verify = async (header: string | undefined, body: Uint8Array, now: number): Promise<Verdict> => {
    const verdict = verifySignature(header, body, parts.secrets(), now);
    if (verdict.ok || verdict.problem !== 'signature_mismatch') return verdict;
    const newest = (await parts.newestSecrets?.()) ?? null;
    return newest === null ? verdict : verifySignature(header, body, newest, now);
  };

  /** Throws the `Refusal` of a delivery that is not accepted. */
  const requireGenuine = (verdict: Verdict): void => {
    if (verdict.ok) {
      parts.onGenuine?.(null);
      return;
    }
    if (verdict.problem === 'timestamp_out_of_tolerance') parts.onGenuine?.(verdict.signerAheadSeconds);
    if (verdict.problem === 'signature_mismatch') mismatches.add(verdict.problem);
    throw new Refusal(verdict.problem);
  };

  const answer = (response: express.Response, result: Result) => {
    results[result] += 1;
    // A kept-alive connection would delay the close of the server.
    if (closing) response.set('connection', 'close');
    response.status(statusOf[result]).set('content-length', '0');
  };

  const refuse: ErrorRequestHandler = (error: unknown, request, response, _next) => {
    const result = error instanceof Refusal ? error.result : 'defect';
    if (result === 'defect' || result === 'unavailable') {
      causes.set(result, error instanceof Refusal ? error.cause : error);
      failures.add(result);
    } else parts.logger.debug({ code: result }, 'a request was rejected');
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
    // The response goes first. The connection, which may carry more of the rejected body, is not used again.
    response.set('connection', 'close').flushHeaders();
    void drained(request, parts.clock).then(() => response.end());
  };

  // An outage of the database is one cause for each delivery, and the platform repeats them.
  const causes = new Map<string, unknown>();
  const failures = new RareLog(parts.clock, rareLogMillis, (counts) => {
    for (const [result, count] of Object.entries(counts))
      parts.logger.error({ error: causes.get(result), count }, 'deliveries could not be accepted');
  });
  // Strangers can cause these lines, so they are rare. With a wrong secret they are the only sign in the log.
  const mismatches = new RareLog(parts.clock, rareLogMillis, ({ signature_mismatch: count = 0 }) => {
    const hint =
      'compare receiver.secrets with the signing secret of the endpoint, unless strangers sent them';
    parts.logger.warn(
      { count, code: 'signature_mismatch', hint },
      'deliveries with a wrong signature were refused',
    );
  });
  const closings = new RareLog(parts.clock, rareLogMillis, (counts) => {
    const count = Object.values(counts).reduce((sum, one) => sum + one, 0);
    const hint = 'rosterd_webhook_connections_closed_total at /metrics counts them by reason';
    parts.logger.warn({ count, code: Object.keys(counts).join(','), hint }, 'connections were closed');
  });
  const connections = new ConnectionTable(limits, (reason) => closings.add(reason));
  const server = serverFor(limits);
  const app = appFor(parts.path, receive, refuse);
  connections.serve(server, (request, response) => {
    // Before routing: health checks are frequent, and routing is half of their cost.
    if (request.method === 'GET' && request.url === '/healthz') answerHealth(response);
    else app(request, response);
  });
  return {
    listen: (port, host = '127.0.0.1') => listen(server, port, host),
    status: () => ({
      results: { ...results },
      connections: connections.counts(),
    }),
    close: async () => {
      closing = true;
      closings.close();
      mismatches.close();
      failures.close();
      connections.closeSilent();
      const closed = new Interrupter();
      void parts.clock.wait(limits.closeMillis, closed).then(() => connections.closeUnfinished());
      await closeServer(server, parts.clock, limits.requestMillis);
      closed.abort();
      await Promise.allSettled(inProgress);
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

/** Rejects what the headers alone decide. */
function refuseEarly(request: Request): void {
  if (Number(request.get('content-length')) > bodyBytesMax) throw new Refusal('too_large');
  const type = request.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new Refusal('unsupported_type');
  const encoding = request.get('content-encoding')?.trim().toLowerCase() ?? 'identity';
  // The signature covers the bytes on the wire. Decompression would only help a zip bomb.
  if (encoding !== 'identity') throw new Refusal('unsupported_encoding');
}

/**
 * Rejects with `unavailable` after `millis`. If the row is written anyway, the sender's next attempt is a duplicate;
 * a 2xx without a row would lose the delivery.
 */
async function withinMillis<Value>(clock: Clock, millis: number, work: Promise<Value>): Promise<Value> {
  const settled = new Interrupter();
  const late = new Promise<never>((_, reject) => {
    // The error is created only when needed, because creating one per delivery is expensive.
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
