import type { Interruption } from '../../runtime/interruption.js';

/**
 * Where a bearer token comes from. Throws `Fault`: `reauthorize` when a human must sign in again, `usage` when
 * the token cannot be read, `unreachable` / `platform_error` / `rate_limited` when refreshing has to wait.
 */
export interface TokenProvider {
  /** The token to use now, refreshed first if it is about to expire. */
  current(signal: Interruption): Promise<string>;
  /**
   * Another token after a 401 on `refused`: refreshed, or read again. Callers who were refused the same token
   * share one refresh. May answer the same token when there is no other.
   */
  renew(refused: string, signal: Interruption): Promise<string>;
  /** What is stored may be another one now: it is read again before the next use. */
  reload?(): void;
}
