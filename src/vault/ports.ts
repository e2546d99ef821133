import type { Interruption } from '../runtime/interruption.js';

/**
 * Secrets that rosterd writes itself: tokens it minted, rotating sign-ins, signing secrets of endpoints it manages. A
 * key is a kind and a name: `installation/<inst id>`, `sign-in/<name>`, `endpoint/<name>`.
 *
 * Every method throws `usage` for a key of another form, and `usage` or `database_unusable` for an entry that exists
 * and cannot be read. The message names the entry and never contains its secret.
 */
export interface Vault {
  /** Returns null when there is no such entry. */
  read(key: string): Promise<string | null>;
  /** Durable when it resolves. Processes that can write the same entry at the same time hold its lock. */
  write(key: string, secret: string): Promise<void>;
  /** Does nothing when there is no such entry. */
  remove(key: string): Promise<void>;
  /** Returns the keys that begin with `prefix`, in their order. */
  keys(prefix: string): Promise<readonly string[]>;
  /**
   * One holder per key over all processes and hosts. A holder that stalled may have lost its lock, so `work` calls
   * `isMine` before it writes. Throws `unreachable` when another holder keeps the lock for too long.
   */
  withLock<R>(
    key: string,
    signal: Interruption,
    work: (isMine: () => Promise<boolean>) => Promise<R>,
  ): Promise<R>;
}
