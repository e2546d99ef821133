import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../../domain/json.js';
import { idempotencyKeyHeader } from '../../wire/headers.js';
import { one, run } from '../state/statements.js';
import type { Caller } from './caller.js';
import { callerOf, type Exchange, type ExchangeWith, type Reply } from './exchange.js';
import { Problem } from './problem.js';

interface Kept {
  readonly fingerprint: string;
  readonly status: number;
  readonly body: string;
}

const keptMillis = 24 * 60 * 60 * 1000;

/**
 * Wraps the handler of a POST that accepts an `Idempotency-Key`. For 24 hours the same key with the same request returns
 * the first response. The handler and the key commit together and requests do not interleave, so of several concurrent
 * requests only one takes effect. Errors are not stored, so a rejected request can be retried with the same key.
 */
export function idempotent<Query, Body>(
  handler: (exchange: ExchangeWith<Query, Body>) => Reply,
): KeyedHandler<Query, Body> {
  const keyed = (exchange: ExchangeWith<Query, Body>): Reply => {
    const key = keyOf(exchange);
    if (key === null) return handler(exchange);
    const { state } = exchange.services;
    const holder = accountOf(callerOf(exchange));
    const fingerprint = fingerprintOf(exchange);
    return state.transaction((): Reply => {
      run(state, 'DELETE FROM idempotency_keys WHERE created_at <= ?', [exchange.now - keptMillis]);
      const kept = one<Kept>(
        state,
        'SELECT fingerprint, status, body FROM idempotency_keys WHERE holder = ? AND key = ?',
        [holder, key],
      );
      if (kept !== undefined) {
        if (kept.fingerprint !== fingerprint) throw otherRequest();
        return { status: kept.status, body: JSON.parse(kept.body) };
      }
      const reply = handler(exchange);
      run(
        state,
        'INSERT INTO idempotency_keys (holder, key, fingerprint, status, body, created_at) VALUES (?, ?, ?, ?, ?, ?)',
        [holder, key, fingerprint, reply.status, JSON.stringify(reply.body), exchange.now],
      );
      return reply;
    })();
  };
  return Object.assign(keyed, { takesKey: true as const });
}

/** Marks a handler that honours the key, so that `route` can check it against the declaration. */
export interface KeyedHandler<Query, Body> {
  (exchange: ExchangeWith<Query, Body>): Reply;
  readonly takesKey: true;
}

/** Returns the account that owns keys and drafts. It does not depend on the token, so it survives a refresh. */
export function accountOf(caller: Caller): string {
  const of = `${caller.realm}:${caller.app.no}`;
  switch (caller.kind) {
    case 'user':
      return `${of}:user:${caller.userNo}`;
    case 'installation':
      return `${of}:installation:${caller.installationNo}`;
    case 'syndicate_key':
      return `${of}:syndicate:${caller.syndicateNo}`;
    default:
      return `${of}:application`;
  }
}

function keyOf(exchange: Exchange): string | null {
  const value = exchange.headers[idempotencyKeyHeader.toLowerCase()];
  if (value === undefined) return null;
  if (typeof value === 'string' && /^[\x20-\x7e]{1,255}$/.test(value)) return value;
  throw new Problem(400, 'bad_request', `${idempotencyKeyHeader} takes 1 to 255 printable ASCII characters.`);
}

/** Returns a fingerprint of the request that does not depend on the order of JSON keys. */
function fingerprintOf(exchange: Exchange): string {
  const text = exchange.rawBody.length === 0 ? '{}' : exchange.rawBody.toString('utf8');
  const body = canonicalJson(JSON.parse(text) as Json);
  return createHash('sha256').update(`${exchange.method} ${exchange.path}\n${body}`).digest('hex');
}

const otherRequest = (): Problem =>
  new Problem(
    422,
    'idempotency_conflict',
    `This ${idempotencyKeyHeader} was used with a different request.`,
    {
      remediation: 'Send a new key with a new request; repeat a key only with the very same request.',
    },
  );
