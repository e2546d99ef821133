import type { Interruption } from '../../runtime/interruption.js';

/**
 * Provides a bearer token. Throws `Fault`: `reauthorize` when a person must sign in again, `usage` when the token
 * cannot be read, `unreachable`, `platform_error` or `rate_limited` when a refresh has to wait.
 */
export interface TokenProvider {
  /** Returns the token to use now, refreshed first if it is about to expire. */
  current(signal: Interruption): Promise<string>;
  /**
   * Returns another token after a 401 on `refused`: refreshed, or read again. Callers with the same refused token
   * share one refresh. May return the same token when there is no other.
   */
  renew(refused: string, signal: Interruption): Promise<string>;
  /** Reads the stored token again before the next use, because it may have changed. */
  reload?(): void;
  /**
   * Reads a stored sign-in again and returns its number: it grows when a person replaces the sign-in, or stores the first
   * one, and stays while processes refresh it. It is 0 until then.
   */
  signIn?(): Promise<number>;
}
