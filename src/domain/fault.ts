import type { Instant } from './instant.js';

/**
 * Everything that can go wrong and is not a broken invariant. The list is closed: policy (`reaction`) is data,
 * and a new code compiles only when it has one. Translation happens once, at the edge that saw it.
 */
export type FaultCode =
  | 'rate_limited' // 429, or our own budget says wait; `retryAt` is set
  | 'unreachable' // DNS, refused, reset, timeout, TLS
  | 'platform_error' // 5xx
  | 'contract_broken' // a 2xx that is not what the contract says: HTML, missing meta, a stuck cursor
  | 'cursor_expired' // 410
  | 'unauthorized' // 401 after the one refresh
  | 'reauthorize' // invalid_grant, revoked installation: a human must sign in again
  | 'forbidden' // 403: scope or access
  | 'refused' // 400, 404, 409, 422: asking again the same way cannot help
  | 'filters_changed' // the stored cursor belongs to other filters or another realm
  | 'too_many_deletions' // the brake of a re-listing
  | 'lease_lost' // another daemon holds the source now
  | 'database_busy' // a lock that did not clear in time
  | 'database_full'
  | 'database_unusable' // damaged, foreign, newer, unreadable
  | 'out_of_descriptors' // the limit of open files and sockets; passes when some are closed or the limit is raised
  | 'usage' // the command line or the configuration
  | 'stopped' // told to stop before the end
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
  too_many_deletions: 'ask',
  lease_lost: 'retry',
  database_busy: 'retry',
  database_full: 'retry',
  database_unusable: 'halt',
  out_of_descriptors: 'retry',
  usage: 'halt',
  stopped: 'stop',
  internal: 'halt',
};

export interface About {
  /** What to type or change next. */
  readonly hint?: string;
  /** The earliest moment at which trying again makes sense. */
  readonly retryAt?: Instant;
  /** It stays until somebody changes something: not tried again at once, and then at the longest interval. */
  readonly lasting?: boolean;
  /** The platform's own `error.type`, status and request id: safe to log, useful to support. */
  readonly type?: string;
  readonly status?: number;
  readonly requestId?: string;
  /** The platform's `error.details`, for the code that knows how to read them; never printed or logged. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** A message says what happened and with which value, never with a name, an email or a secret in it. */
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
