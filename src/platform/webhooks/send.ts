import http from 'node:http';
import https from 'node:https';
import { defined } from '../../domain/defined.js';
import type { Clock } from '../../runtime/clock.js';
import type { DeliveryError } from '../contract/webhooks.js';
import { BlockedAddress, guardedLookup, literalIsBlocked, type Resolve } from './guarded-lookup.js';
import type { Target } from './url-policy.js';

export type Outcome = {
  readonly durationMs: number;
  /** The beginning of the response body, as text. */
  readonly response: string;
} & (
  | { readonly status: number; readonly error: null }
  | { readonly status: null; readonly error: DeliveryError }
);

export const isSuccess = (outcome: Outcome): boolean =>
  outcome.status !== null && outcome.status >= 200 && outcome.status < 300;

export interface SenderSettings {
  /** Real time: moving the sandbox clock must not time out requests in flight. */
  readonly wall: Clock;
  readonly resolve: Resolve;
  /** Additional trusted certificate authorities. */
  readonly ca?: string;
}

/** Covers resolving, connecting, TLS, sending and the first bytes of the response. */
const timeoutMillis = 15_000;
/** Enough to show an error message of the receiver. The rest is not read. */
const responseBytesMax = 4 * 1024;

/**
 * Sends the exact bytes in one POST. Never rejects: every failure is an outcome with one of four error names. Redirects
 * are not followed and bodies are not decompressed. Every attempt opens a new connection, so that its address is checked.
 * Resolves with null when `signal` aborted it, because the result is then unknown.
 */
export function send(
  settings: SenderSettings,
  target: Target,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<Outcome | null> {
  const startedAt = settings.wall.monotonic();
  const took = () => Math.round(settings.wall.monotonic() - startedAt);
  if (literalIsBlocked(target)) return Promise.resolve(failure('blocked_url', took()));
  return new Promise((resolve) => {
    const finished = new AbortController();
    const secure = target.url.protocol === 'https:';
    const bytes = Buffer.from(body);
    const request = (secure ? https : http).request(target.url, {
      method: 'POST',
      agent: false,
      lookup: guardedLookup(target, settings.resolve),
      headers: { ...headers, 'content-length': bytes.length },
      ...defined({ ca: settings.ca }),
    });
    const settle = (outcome: Outcome | null) => {
      if (finished.signal.aborted) return;
      finished.abort();
      signal.removeEventListener('abort', abandon);
      resolve(outcome);
      request.destroy();
    };
    const abandon = () => settle(null);
    let connected = false;
    let secured = !secure;
    let answered: { readonly status: number; readonly chunks: Buffer[]; size: number } | null = null;
    const settleAnswered = () => {
      if (answered === null) return settle(failure('connection_failed', took()));
      const response = Buffer.concat(answered.chunks).subarray(0, responseBytesMax).toString('utf8');
      settle({ status: answered.status, error: null, durationMs: took(), response });
    };

    request.on('socket', (socket) => {
      socket.once('connect', () => {
        connected = true;
      });
      socket.once('secureConnect', () => {
        secured = true;
      });
    });
    request.on('error', (error) => {
      if (error instanceof BlockedAddress) settle(failure('blocked_url', took()));
      else if (connected && !secured) settle(failure('tls_error', took()));
      else settleAnswered();
    });
    request.on('response', (response) => {
      answered = { status: response.statusCode ?? 0, chunks: [], size: 0 };
      const answer = answered;
      response.on('data', (chunk: Buffer) => {
        answer.chunks.push(chunk);
        answer.size += chunk.length;
        if (answer.size >= responseBytesMax) settleAnswered();
      });
      response.on('end', settleAnswered);
      response.on('error', settleAnswered);
    });
    request.on('close', settleAnswered);

    // A receiver that has sent its status has responded, even if the body is slow.
    void settings.wall.wait(timeoutMillis, finished.signal).then(() => {
      if (answered === null) settle(failure('timeout', took()));
      else settleAnswered();
    });
    signal.addEventListener('abort', abandon);
    if (signal.aborted) abandon();
    else request.end(bytes);
  });
}

const failure = (error: DeliveryError, durationMs: number): Outcome => ({
  status: null,
  error,
  durationMs,
  response: '',
});
