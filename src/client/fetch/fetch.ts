import type { Interruption } from '../../runtime/interruption.js';
import type { Urgency } from '../../sync/ports.js';
import type { BodyLimits } from './body-limits.js';

/**
 * The interface of every layer. Request and response bodies are complete text, so a layer can send the same bytes
 * twice, a timeout covers the body too, and no half-read response stays on a socket.
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
  /** Whether repeating it after a 5xx or a lost response is harmless. */
  readonly replayable: boolean;
  /** Maximum size of the response; `smallAnswer` by default. */
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

/** The part of `fetch` that is used. Both undici's and the global one, which tests intercept, fit. */
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

/** Returns method and path for messages. The query is left out: it carries cursors. */
export function callName(call: Pick<Call, 'method' | 'url'>): string {
  return `${call.method} ${call.url.pathname}`;
}
