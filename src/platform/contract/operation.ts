import type { z } from 'zod';
import type { RateLimitName } from '../../wire/limits.js';
import type { Version } from '../../wire/versions.js';
import { type CredentialKind, canHold, credentialKinds } from './scopes.js';

/**
 * Declaration of one endpoint: its parameters, its responses and the scopes it requires. The server validates
 * requests against it and the OpenAPI document is generated from it, so the two cannot drift apart.
 */
export interface Operation {
  /** Operation id in OpenAPI and in error messages, e.g. `listInvestments`. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path template; parameters are written `{name}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Any one of these scopes is enough. Empty: any valid credential. Null: no credential is required. */
  readonly scopes: readonly string[] | null;
  /** The kinds of credential that may be used. Default: every kind that can hold one of the scopes. */
  readonly callers?: readonly CredentialKind[];
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Encoding of the request body. Default JSON. */
  readonly bodyType?: 'json' | 'form';
  readonly responses: Readonly<Record<number, DeclaredResponse>>;
  /** Error statuses specific to this operation. `errorStatusesOf` adds those every operation may return. */
  readonly errors: readonly number[];
  readonly removedIn?: Version;
  readonly deprecated?: boolean;
  readonly beta?: boolean;
  /** Accepts `Idempotency-Key`: repeating a POST with the same key and request returns the first response. */
  readonly idempotencyKey?: boolean;
  readonly limits?: readonly RateLimitName[];
}

export interface DeclaredResponse {
  readonly description: string;
  /** Schema of the JSON body. Without a schema and without a `type`, the response has no body. */
  readonly schema?: z.ZodType;
  /** Content type of a body that is not JSON. */
  readonly type?: 'text/html' | 'text/csv';
}

/** Returns every status that the operation may return with the error envelope, in ascending order. */
export function errorStatusesOf(operation: Operation): readonly number[] {
  const own = new Set(operation.errors);
  // 400: unknown version or malformed body. 429: rate limit. 500: internal error.
  for (const status of [400, 429, 500]) own.add(status);
  // Where a credential is required, publishable keys and tokens of disabled applications are rejected.
  if (operation.scopes !== null) for (const status of [401, 403]) own.add(status);
  if (operation.body !== undefined && operation.bodyType !== 'form') own.add(422);
  if (operation.removedIn !== undefined) own.add(404);
  return [...own].sort((a, b) => a - b);
}

/** Returns the kinds of credential that may use the operation. The server checks them and the document lists them. */
export function callersOf({
  callers,
  scopes,
}: Pick<Operation, 'callers' | 'scopes'>): readonly CredentialKind[] {
  const able = (kind: CredentialKind) =>
    scopes !== null && (scopes.length === 0 || scopes.some((scope) => canHold(kind, scope)));
  return (callers ?? credentialKinds).filter(able);
}

/** Keeps the literal types of a declaration while checking its shape. */
export const operation = <const Declared extends Operation>(declared: Declared): Declared => declared;
