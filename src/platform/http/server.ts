import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { keptAliveMillis } from '../../runtime/listening.js';
import { legacyPrefix } from '../../wire/paths.js';
import { latestVersion } from '../../wire/versions.js';
import type { Services } from '../services.js';
import { newId } from '../state/secrets.js';
import { clientIp } from './client-ip.js';
import { corsHeaders } from './cors.js';
import { type Answer, commonHeaders, problemAnswer } from './envelope.js';
import type { Exchange } from './exchange.js';
import { answerTo } from './pipeline.js';
import { Problem } from './problem.js';
import { readBody } from './read-body.js';
import { referenceFor } from './reference.js';
import type { Router } from './route.js';

/** Observes or replaces responses. The request ledger and the faults of a sandbox are interceptors. */
export interface Interceptor {
  /** Returns a response to send instead; the platform then does not process the request. */
  before?(exchange: Exchange): Promise<Answer | null>;
  after?(exchange: Exchange, answer: Answer): void;
  /** Sends the response itself, completely or in part, and returns true; or returns false. */
  send?(exchange: Exchange, answer: Answer, response: ServerResponse): boolean;
}

export function createPlatformServer(
  services: Services,
  router: Router,
  interceptors: readonly Interceptor[],
): Server {
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (lacksHost(request)) request.socket.end(unreadable(services));
    else void serve(services, router, interceptors, request, response).catch(() => response.destroy());
  };
  // What Node rejects itself, a request without a host or with an unknown expectation, gets no request id and no envelope.
  const options = {
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    keepAliveTimeout: keptAliveMillis,
    maxHeaderSize: 32 * 1024,
    requireHostHeader: false,
  };
  const server = createServer(options, answer).on('checkContinue', answer).on('checkExpectation', answer);
  return server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A timeout is not an error in the request: close the connection without a response, and the client retries.
    const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    if (socket.writable && !late) socket.end(unreadable(services));
    else socket.destroy();
  });
}

const lacksHost = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion !== '1.0' && headers.host === undefined;

/** Returns the response to bytes that are not an HTTP request: the error envelope with a request id. */
function unreadable(services: Services): string {
  const requestId = newId(services.random, 'req_');
  const problem = new Problem(400, 'bad_request', 'The request is not valid HTTP.');
  const { headers, body } = problemAnswer(problem, requestId);
  const lines = Object.entries({
    date: new Date(services.clock.now()).toUTCString(),
    ...commonHeaders(services.options.headers, requestId, latestVersion),
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`;
}

async function serve(
  services: Services,
  router: Router,
  interceptors: readonly Interceptor[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request, response);
  const requestId = newId(services.random, 'req_');
  const url = targetOf(request.url ?? '');
  const path = url === null ? null : decoded(withoutLegacyPrefix(url.pathname));
  const method = request.method ?? 'GET';
  const match = path === null ? null : router.match(method, path);
  const exchange: Exchange = {
    services,
    method,
    operation: match?.route?.operation ?? null,
    path: path ?? url?.pathname ?? '/',
    query: url?.searchParams ?? new URLSearchParams(),
    headers: request.headers,
    ip: clientIp(request, services.options.trustedProxies),
    rawBody: body ?? Buffer.alloc(0),
    requestId,
    params: match?.params ?? {},
    now: services.clock.now(),
    version: latestVersion,
    caller: null,
    applicationNo: null,
    input: { query: {}, body: {} },
  };
  let answer: Answer | undefined;
  for (const interceptor of interceptors) answer ??= (await interceptor.before?.(exchange)) ?? undefined;
  if (body === null) answer ??= problemAnswer(tooLarge, requestId, referenceFor(exchange));
  answer ??= method === 'OPTIONS' && match !== null ? preflight : await answerTo(match, exchange);
  for (const interceptor of interceptors) interceptor.after?.(exchange, answer);
  if (response.destroyed) return;
  const headers = headersOf(answer, exchange, match?.methods ?? []);
  // Unread bytes of the body would be parsed as the next request.
  if (!request.complete) headers.connection = 'close';
  const whole: Answer = { ...answer, headers };
  if (interceptors.some((interceptor) => interceptor.send?.(exchange, whole, response) === true)) return;
  response.writeHead(answer.status, headers);
  response.end(method === 'HEAD' ? undefined : answer.body);
}

/** Returns the headers of an answer. `methods` are those of the path. */
function headersOf(answer: Answer, exchange: Exchange, methods: readonly string[]): Record<string, string> {
  const { services, requestId, version } = exchange;
  return {
    date: new Date(services.clock.now()).toUTCString(),
    ...commonHeaders(services.options.headers, requestId, version),
    ...corsHeaders(exchange, methods),
    ...answer.headers,
    // A 204 must not have a Content-Length, and that of a 304 would be the length of the body it leaves out.
    ...([204, 304].includes(answer.status)
      ? {}
      : { 'content-length': String(Buffer.byteLength(answer.body)) }),
  };
}

/** Parses the request target. A target that starts with two slashes is a path here, not the name of a host. */
function targetOf(target: string): URL | null {
  return URL.parse(target.startsWith('/') ? `http://platform.invalid${target}` : target);
}

const tooLarge = new Problem(400, 'bad_request', 'The body is larger than 1 MB.');
const preflight: Answer = { status: 204, headers: {}, body: '' };

function withoutLegacyPrefix(path: string): string {
  return path === legacyPrefix || path.startsWith(`${legacyPrefix}/`)
    ? path.slice(legacyPrefix.length) || '/'
    : path;
}

/** Decodes a path. Returns null for a malformed escape, or one that encodes a slash or a control character. */
function decoded(path: string): string | null {
  try {
    const text = decodeURIComponent(path);
    return /%2f/i.test(path) || [...text].some((character) => character < ' ') ? null : text;
  } catch {
    return null;
  }
}
