import type { Instant } from './instant.js';

/**
 * Every failure that is not a broken invariant. The list is closed: the policy (`reaction`) is data, and a new code
 * compiles only when it has one. An error is translated once, where it is first seen.
 */
export type FaultCode =
  | 'rate_limited' // 429, or our own budget is spent; `retryAt` is set
  | 'unreachable' // DNS, refused, reset, timeout, TLS
  | 'platform_error' // 5xx
  | 'contract_broken' // a 2xx that violates the contract (HTML, missing meta, a stuck cursor), or a 4xx without an error type
  | 'cursor_expired' // 410 of the API
  | 'unauthorized' // 401 of the API, after the one refresh
  | 'reauthorize' // invalid_grant, revoked installation: a human must sign in again
  | 'forbidden' // 403: scope or access
  | 'refused' // 400, 404, 409, 422: asking again the same way cannot help
  | 'filters_changed' // the stored cursor belongs to other filters or another realm
  | 'lease_lost' // another daemon holds the source now
  | 'database_busy' // a lock that did not clear in time
  | 'database_full'
  | 'database_unusable' // damaged, from another program, newer schema, unreadable
  | 'out_of_descriptors' // the limit of open files and sockets; passes when some are closed or the limit is raised
  | 'usage' // the command line or the configuration
  | 'stopped' // stopped before the end
  | 'internal';

export type Reaction = 'wait' | 'retry' | 'relist' | 'halt' | 'ask' | 'stop';

export const reaction: Readonly<Record<FaultCode, Reaction>> = {
  rate_limited: 'wait',
  unreachable: 'retry',
  platform_error: 'retry',
  contract_broken: 'retry',
  cursor_expired: 'relist',
  unauthorized: 'ask',
  reauthorize: 'ask',
  forbidden: 'ask',
  refused: 'ask',
  filters_changed: 'ask',
  lease_lost: 'retry',
  database_busy: 'retry',
  database_full: 'retry',
  // What a person mends, such as a right that was revoked, is noticed without another word from that person.
  database_unusable: 'retry',
  out_of_descriptors: 'retry',
  usage: 'halt',
  stopped: 'stop',
  internal: 'halt',
};

export interface About {
  /** What to type or change next. */
  readonly hint?: string;
  /** Earliest time at which a retry makes sense. */
  readonly retryAt?: Instant;
  /** A 429 that asks for no wait; `retryAt` is then the shortest one. */
  readonly waitUnstated?: boolean;
  /** The failure persists until someone changes something: not retried at once, and then at the longest interval. */
  readonly lasting?: boolean;
  /** The database is there, and did not answer in time because another transaction has locked what was asked for, or of its load. */
  readonly locked?: boolean;
  /** The platform's own `error.type`, status and request id: safe to log and useful for support. */
  readonly type?: string;
  readonly status?: number;
  readonly requestId?: string;
  /** The platform's `error.details`, for code that knows how to read them; never printed or logged. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The part of the statement that a query could not be compiled for. */
  readonly place?: Place;
  readonly cause?: unknown;
}

/** A part of a text, in characters from its beginning. */
export interface Place {
  readonly from: number;
  readonly length: number;
}

/**
 * A failure with a code. The message says what happened and with which value; it never contains a name, an email or a
 * secret.
 */
export class Fault extends Error {
  constructor(
    readonly code: FaultCode,
    message: string,
    readonly about: About = {},
  ) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause });
    this.name = 'Fault';
  }
}

export function isFault(error: unknown, code?: FaultCode): error is Fault {
  return error instanceof Fault && (code === undefined || error.code === code);
}

/** Returns whether the error is a rate limit that says how long to wait: no problem, because the wait ends it. */
export function isStatedWait(error: unknown): boolean {
  return isFault(error, 'rate_limited') && error.about.waitUnstated !== true;
}

/** Returns the message of a fault with its hint, in one sentence; `otherwise` for an error that is none, whose text may hold anything. */
export function sentenceOf(error: unknown, otherwise: string): string {
  if (!isFault(error)) return otherwise;
  const { message, about } = error;
  return about.hint === undefined ? message : `${message}; ${about.hint}`;
}
