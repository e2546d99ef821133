import { idempotencyKeyHeader } from '../../wire/headers.js';
import { all } from '../state/statements.js';
import type { Exchange } from './exchange.js';

const rateLimitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

/**
 * Any origin may read. Only an origin of the application's own redirect URIs may write. A preflight has no credential,
 * so it is answered for the origins of all applications; the response to the write then names only its application's.
 */
export function corsHeaders(exchange: Exchange, methods: readonly string[]): Record<string, string> {
  const origin = exchange.headers.origin;
  if (origin === undefined) return {};
  const asked = exchange.headers['access-control-request-method'];
  const preflight = exchange.method === 'OPTIONS' && typeof asked === 'string';
  const method = preflight ? asked.toUpperCase() : exchange.method;
  const mayWrite = preflight
    ? isRegistered(exchange, origin, null)
    : exchange.applicationNo !== null && isRegistered(exchange, origin, exchange.applicationNo);
  if (!isRead(method) && !mayWrite) return { vary: 'Origin' };
  const { version, versionLatest, requestId } = exchange.services.options.headers;
  return {
    'access-control-allow-origin': isRead(method) ? '*' : origin,
    'access-control-allow-methods': (mayWrite ? methods : methods.filter(isRead)).join(', '),
    'access-control-allow-headers': `Authorization, Content-Type, If-None-Match, ${idempotencyKeyHeader}, ${version}`,
    'access-control-expose-headers': `ETag, ${[requestId, version, versionLatest, ...rateLimitHeaders].join(', ')}`,
    vary: 'Origin',
  };
}

/** Returns whether the origin belongs to a redirect URI of the application; null means of any application. */
function isRegistered(exchange: Exchange, origin: string, applicationNo: number | null): boolean {
  // A redirect URI with a custom scheme has the origin `null`, which any sandboxed frame also sends.
  if (origin === 'null') return false;
  const rows = all<{ uri: string }>(
    exchange.services.state,
    `SELECT DISTINCT u.value AS uri FROM applications a, json_each(a.redirect_uris) u
     WHERE a.status IN ('active', 'suspended') AND ($application IS NULL OR a.no = $application)`,
    { application: applicationNo },
  );
  return rows.some((row) => URL.parse(row.uri)?.origin === origin);
}
