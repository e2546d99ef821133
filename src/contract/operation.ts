import type { z } from 'zod';
import type { RateLimitName } from './limits.js';
import type { Version } from './versions.js';

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
  readonly responses: Readonly<Record<number, { readonly description: string; readonly schema?: z.ZodType }>>;
  /** Error statuses besides 401 and 429, which every operation may answer. */
  readonly errors: readonly number[];
  readonly removedIn?: Version;
  readonly deprecated?: boolean;
  readonly beta?: boolean;
  readonly limits?: readonly RateLimitName[];
}

/** Keeps the literal types of a declaration while checking its shape. */
export const operation = <const Declared extends Operation>(declared: Declared): Declared => declared;
