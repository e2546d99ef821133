import type { z } from 'zod';
import type { RateLimitName } from '../../wire/limits.js';
import type { Version } from '../../wire/versions.js';

/**
 * One endpoint as declared: what it takes, what it answers, who may call it. The server validates requests
 * with it and the OpenAPI description is made from it, so neither can drift from the other.
 */
export interface Operation {
  /** Names the operation in OpenAPI and in error messages, e.g. `listInvestments`. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `{name}` for parameters. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Any one of these admits; empty when a valid credential is enough. Null: no credential is asked for. */
  readonly scopes: readonly string[] | null;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The form of the body; JSON unless said. */
  readonly bodyType?: 'json' | 'form';
  readonly responses: Readonly<Record<number, DeclaredResponse>>;
  /** Error statuses of its own; those every operation may answer (`errorStatusesOf`) need not be repeated. */
  readonly errors: readonly number[];
  readonly removedIn?: Version;
  readonly deprecated?: boolean;
  readonly beta?: boolean;
  /** A creating POST that may be sent again: the same key with the same request answers what the first one did. */
  readonly idempotencyKey?: boolean;
  readonly limits?: readonly RateLimitName[];
}

export interface DeclaredResponse {
  readonly description: string;
  /** Of the JSON body. Without it, and without a type, there is no body. */
  readonly schema?: z.ZodType;
  /** What the body is when it is not JSON. */
  readonly type?: 'text/html' | 'text/csv';
}

/** Every status besides those of `responses` that the operation may answer with the error envelope. */
export function errorStatusesOf(operation: Operation): readonly number[] {
  const own = new Set(operation.errors);
  // An unknown version or a broken body; a limit; a fault of the platform's own.
  for (const status of [400, 429, 500]) own.add(status);
  // Publishable keys and tokens of disabled applications are refused wherever a credential is asked for.
  if (operation.scopes !== null) for (const status of [401, 403]) own.add(status);
  if (operation.body !== undefined && operation.bodyType !== 'form') own.add(422);
  if (operation.removedIn !== undefined) own.add(404);
  return [...own].sort((a, b) => a - b);
}

/** Keeps the literal types of a declaration while checking its shape. */
export const operation = <const Declared extends Operation>(declared: Declared): Declared => declared;
