import type { IncomingHttpHeaders } from 'node:http';
import type { Version } from '../../wire/versions.js';
import type { Services } from '../services.js';
import type { Caller } from './caller.js';

/** One request on its way through the steps. Steps fill in what later steps read. */
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
  /** The platform's time when the request arrived: one request sees one moment. */
  readonly now: number;
  version: Version;
  /** Null until `identify` has run, and on routes open to anyone. */
  caller: Caller | null;
  /** What the route's declarations made of query and body; set by `validate`. */
  input: { query: unknown; body: unknown };
}

export interface Reply {
  readonly status: number;
  /** JSON unless it is a string; a string is sent as it is, under its own content type. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Step = (exchange: Exchange) => void | Promise<void>;
export type Handler = (exchange: Exchange) => Reply | Promise<Reply>;

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const created = (body: unknown): Reply => ({ status: 201, body });

/** After `identify` there is a caller; a route that asks without having identified is a bug of the route table. */
export function callerOf(exchange: Exchange): Caller {
  if (exchange.caller === null) throw new Error(`${exchange.method} ${exchange.path} has no identify step`);
  return exchange.caller;
}
