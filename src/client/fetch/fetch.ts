import type { Interruption } from '../../runtime/interruption.js';
import type { Urgency } from '../../sync/ports.js';
import type { BodyLimits } from './body-limits.js';

/**
 * The one shape every layer takes and gives. A body is whole text on both sides, so that a layer may send the
 * same bytes twice, a deadline covers the body too, and no half-read answer is ever left on a socket.
 */
export type Fetch = (call: Call) => Promise<Answer>;

export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: URL;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal: Interruption;
  readonly urgency: Urgency;
  /** Whether sending it again after a 5xx or a lost answer is harmless. */
  readonly replayable: boolean;
  /** How large its answer may be; `smallAnswer` when not given. */
  readonly limits?: BodyLimits;
}

export interface Answer {
  readonly status: number;
  readonly headers: HeadersRead;
  readonly body: string;
}

export interface HeadersRead {
  get(name: string): string | null;
}

/** What is needed of a real `fetch`: undici's own, and the global one that tests intercept, both fit. */
export type WireFetch = (url: URL, init: WireInit) => Promise<WireResponse>;

export interface WireInit {
  readonly method: Call['method'];
  readonly headers: Record<string, string>;
  readonly body: string | null;
  readonly signal: AbortSignal;
  readonly redirect: 'manual';
}

export interface WireResponse {
  readonly status: number;
  readonly headers: HeadersRead;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Method and path, for messages. The query stays out: it carries cursors. */
export function callName(call: Pick<Call, 'method' | 'url'>): string {
  return `${call.method} ${call.url.pathname}`;
}
