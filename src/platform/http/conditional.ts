import type { Exchange, Reply } from './exchange.js';

/**
 * Adds the header `ETag` to a successful read, and returns 304 if `If-None-Match` names it. The validator is weak, because
 * the resource's `etag` does not cover the whole body.
 */
export function conditional(exchange: Exchange, etag: string, reply: Reply): Reply {
  const headers = { etag: `W/"${etag}"` };
  const known = exchange.headers['if-none-match'];
  return known !== undefined && names(known, etag)
    ? { status: 304, body: undefined, headers }
    : { ...reply, headers: { ...reply.headers, ...headers } };
}

/** Weak comparison (RFC 9110 §13.1.2): `W/` does not count, and `*` matches whatever there is. */
function names(ifNoneMatch: string, etag: string): boolean {
  const known = ifNoneMatch.split(',').map((entry) => entry.trim().replace(/^W\//, ''));
  return known.includes('*') || known.includes(`"${etag}"`);
}
