import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Version } from '../../wire/versions.js';
import type { Operation } from '../contract/operation.js';
import type { Services } from '../services.js';
import type { Caller } from './caller.js';

/** The query of a declared operation, as its schema returns it; unknown if it declares none. */
type QueryOf<Declared extends Operation> = Declared extends { readonly query: infer Query extends z.ZodType }
  ? z.output<Query>
  : unknown;

type BodyOf<Declared extends Operation> = Declared extends { readonly body: infer Body extends z.ZodType }
  ? z.output<Body>
  : unknown;

/** Operations whose body is a form of a page, as text by name. */
export interface PostedForm extends Operation {
  readonly body: z.ZodType<Readonly<Record<string, string>>>;
}

/**
 * One request as it passes through the steps. Each step may set fields that later steps read. Operations with the same
 * schemas have the same exchange, so they can share a handler.
 */
export interface ExchangeWith<Query, Body> {
  readonly services: Services;
  readonly method: string;
  /** Null when no route matched; then no step and no handler runs. */
  readonly operation: Operation | null;
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
  /**
   * The application that sent the request: that of its credential, also of an expired one, or the client of an OAuth
   * endpoint. Null while unknown. Only CORS uses it; it proves nothing.
   */
  applicationNo: number | null;
  /** Set by `validate`, which runs after the steps and before the handler. */
  input: { query: Query; body: Body };
}

/** The exchange of an operation. Without a parameter, its input is unknown. */
export type Exchange<Declared extends Operation = Operation> = ExchangeWith<
  QueryOf<Declared>,
  BodyOf<Declared>
>;

export interface Reply {
  readonly status: number;
  /** Sent as JSON, except a string, which is sent unchanged with the content type of `headers`. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A step or a handler. An interface instead of a function type, so that TypeScript compares two of them by their query
 * and body and not by their operation.
 */
export interface CallWith<Query, Body, Result> {
  (exchange: ExchangeWith<Query, Body>): Result | Promise<Result>;
  /** Set by `idempotent` on a handler that honours the `Idempotency-Key`. */
  readonly takesKey?: true;
}
type CallOf<Declared extends Operation, Result> = CallWith<QueryOf<Declared>, BodyOf<Declared>, Result>;
export type Step<Declared extends Operation = Operation> = CallOf<Declared, void>;
export type Handler<Declared extends Operation = Operation> = CallOf<Declared, Reply>;

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const created = (body: unknown): Reply => ({ status: 201, body });

/** Returns the operation of the route. Throws outside its steps and its handler. */
export function operationOf(exchange: Exchange): Operation {
  if (exchange.operation === null) throw new Error(`${exchange.method} ${exchange.path} has no route`);
  return exchange.operation;
}

/** Returns the caller. Throws when the route has no `identify` step, which is a bug in its route table. */
export function callerOf(exchange: Exchange): Caller {
  if (exchange.caller === null) throw new Error(`${exchange.method} ${exchange.path} has no identify step`);
  return exchange.caller;
}

/** Returns the caller of an operation that only users may call. Throws when its declaration admits others. */
export function userOf(exchange: Exchange): Extract<Caller, { readonly kind: 'user' }> {
  const caller = callerOf(exchange);
  if (caller.kind !== 'user') throw new Error(`${exchange.path} admits callers that are not users`);
  return caller;
}
