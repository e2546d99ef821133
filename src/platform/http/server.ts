import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { legacyPrefix } from '../../contract/paths.js';
import { latestVersion } from '../../contract/versions.js';
import type { Services } from '../services.js';
import { newId } from '../state/secrets.js';
import { clientIp } from './client-ip.js';
import { corsHeaders } from './cors.js';
import { type Answer, commonHeaders, problemAnswer } from './envelope.js';
import type { Exchange } from './exchange.js';
import { answerTo } from './pipeline.js';
import { Problem } from './problem.js';
import { readBody } from './read-body.js';
import type { Router } from './route.js';

/** Sees an exchange before it is answered and may answer in its place (faults), or only look (the request ledger). */
export interface Interceptor {
  before?(exchange: Exchange, response: ServerResponse): Promise<Answer | 'handled' | null>;
  after?(exchange: Exchange, answer: Answer): void;
}

export function createPlatformServer(
  services: Services,
  router: Router,
  interceptors: readonly Interceptor[],
): Server {
  return createServer(
    { requestTimeout: 30_000, headersTimeout: 10_000, maxHeaderSize: 32 * 1024 },
    (request, response) => {
      void serve(services, router, interceptors, request, response).catch(() => response.destroy());
    },
  );
}

async function serve(
  services: Services,
  router: Router,
  interceptors: readonly Interceptor[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = newId(services.random, 'req_');
  const url = new URL(request.url ?? '/', 'http://platform.invalid');
  const path = decoded(withoutLegacyPrefix(url.pathname));
  const method = request.method ?? 'GET';
  const match = path === null ? null : router.match(method, path);
  const exchange: Exchange = {
    services,
    method,
    path: path ?? url.pathname,
    query: url.searchParams,
    headers: request.headers,
    ip: clientIp(request, services.options.trustedProxies),
    rawBody: Buffer.alloc(0),
    requestId,
    params: match?.params ?? {},
    now: services.clock.now(),
    version: latestVersion,
    caller: null,
    input: { query: {}, body: {} },
  };
  const body = await readBody(request);
  let answer: Answer | undefined;
  for (const interceptor of interceptors) {
    const early = await interceptor.before?.(exchange, response);
    if (early === 'handled') return;
    if (early !== null && early !== undefined) answer = early;
  }
  const whole: Exchange = Object.assign(exchange, { rawBody: body ?? Buffer.alloc(0) });
  if (body === null) {
    answer ??= problemAnswer(new Problem(400, 'bad_request', 'The body is larger than 1 MB.'), requestId);
  }
  answer ??= method === 'OPTIONS' && match !== null ? preflight : await answerTo(match, whole);
  for (const interceptor of interceptors) interceptor.after?.(whole, answer);
  if (response.destroyed) return;
  response.writeHead(answer.status, {
    date: new Date(services.clock.now()).toUTCString(),
    ...commonHeaders(services.options.headers, requestId, whole.version),
    ...corsHeaders(whole, match?.methods ?? []),
    ...answer.headers,
    'content-length': Buffer.byteLength(answer.body),
  });
  response.end(method === 'HEAD' ? undefined : answer.body);
}

const preflight: Answer = { status: 204, headers: {}, body: '' };

function withoutLegacyPrefix(path: string): string {
  return path === legacyPrefix || path.startsWith(`${legacyPrefix}/`)
    ? path.slice(legacyPrefix.length) || '/'
    : path;
}

/** Null when an escape is broken or hides a slash or a control character: such a path names nothing. */
function decoded(path: string): string | null {
  try {
    const text = decodeURIComponent(path);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    return /%2f/i.test(path) || /[\u0000-\u001f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}
