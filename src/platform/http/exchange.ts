import type { IncomingHttpHeaders } from 'node:http';
import type { Version } from '../../wire/versions.js';
import type { Services } from '../services.js';
import type { Caller } from './caller.js';

/** One request as it passes through the steps. Each step may set fields that later steps read. */
export interface Exchange {
  readonly services: Services;
  readonly method: string;
  /** Decoded, without the legacy prefix and without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly ip: string;
  readonly rawBody: Buffer;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  /** The platform time when the request arrived. All steps of a request use the same time. */
  readonly now: number;
  version: Version;
  /** Null before `identify` has run, and on routes without authentication. */
  caller: Caller | null;
  /** The parsed query and body, set by `validate`. */
  input: { query: unknown; body: unknown };
}

export interface Reply {
  readonly status: number;
  /** Sent as JSON, except a string, which is sent unchanged with the content type of `headers`. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Step = (exchange: Exchange) => void | Promise<void>;
export type Handler = (exchange: Exchange) => Reply | Promise<Reply>;

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const created = (body: unknown): Reply => ({ status: 201, body });

/** Returns the caller. Throws when the route has no `identify` step, which is a bug in its route table. */
export function callerOf(exchange: Exchange): Caller {
  if (exchange.caller === null) throw new Error(`${exchange.method} ${exchange.path} has no identify step`);
  return exchange.caller;
}
