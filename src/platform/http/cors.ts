import { idempotencyKeyHeader } from '../../wire/headers.js';
import { all } from '../state/statements.js';
import type { Exchange } from './exchange.js';

/** Any origin may read. Only the origins of registered redirect URIs may write. */
export function corsHeaders(exchange: Exchange, methods: readonly string[]): Record<string, string> {
  const origin = exchange.headers.origin;
  if (origin === undefined) return {};
  const asked = exchange.headers['access-control-request-method'];
  const method =
    exchange.method === 'OPTIONS' && typeof asked === 'string' ? asked.toUpperCase() : exchange.method;
  if (method !== 'GET' && method !== 'HEAD' && !registered(exchange, origin)) return { vary: 'Origin' };
  return {
    'access-control-allow-origin': method === 'GET' || method === 'HEAD' ? '*' : origin,
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': `Authorization, Content-Type, ${idempotencyKeyHeader}, ${exchange.services.options.headers.version}`,
    'access-control-expose-headers': `${exchange.services.options.headers.requestId}, X-RateLimit-Reset`,
    vary: 'Origin',
  };
}

function registered(exchange: Exchange, origin: string): boolean {
  const rows = all<{ uri: string }>(
    exchange.services.state,
    `SELECT DISTINCT u.value AS uri FROM applications a, json_each(a.redirect_uris) u WHERE a.status = 'active'`,
  );
  // A redirect URI with a custom scheme has the origin `null`, which any sandboxed frame also sends.
  return origin !== 'null' && rows.some((row) => URL.canParse(row.uri) && new URL(row.uri).origin === origin);
}
