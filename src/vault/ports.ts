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
  /**
   * Throws what `write` would throw now, as far as that can be known. Called before the platform makes a secret that is to be
   * kept: one that cannot be stored would be lost, and stay valid.
   */
  requireWritable(): Promise<void>;
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

/** An entry as the database holds it: nonce, ciphertext and tag, in base64. */
export interface SealedEntry {
  readonly key: string;
  /** Names the key that encrypts it; see `keyring.ts`. */
  readonly keyId: string;
  readonly sealed: string;
}

/** The encrypted entries of a database, and one lock for each key. It sees no secret and no encryption key. */
export interface SealedEntries {
  read(key: string): Promise<SealedEntry | null>;
  /**
   * Durable when it resolves. With a fence, writes only while that lock is held, and returns whether it wrote. Without
   * one, always writes.
   */
  write(entry: SealedEntry, fence: number | null): Promise<boolean>;
  /** Replaces an entry that is still exactly `before`. Returns whether it was. */
  replace(before: SealedEntry, after: SealedEntry): Promise<boolean>;
  remove(key: string): Promise<void>;
  keys(prefix: string): Promise<readonly string[]>;
  /** Returns the number of entries for each encryption key. */
  byKeyId(): Promise<readonly { readonly keyId: string; readonly entries: number }[]>;
  /** Returns at most `limit` entries after `after`, in the order of keys, that another key than `keyId` encrypts. */
  underOtherKeys(keyId: string, after: string, limit: number): Promise<readonly SealedEntry[]>;
  /** Takes a free or expired lock. Returns its fence, or null while another holder has it. */
  claim(key: string, holder: string): Promise<number | null>;
  /** Extends a lock. Returns false when it belongs to another holder by now. */
  renew(key: string, fence: number): Promise<boolean>;
  release(key: string, fence: number): Promise<void>;
  close(): Promise<void>;
}

/** How an encrypted vault is doing. Contains no secret and no encryption key. */
export interface VaultStatus {
  readonly entries: number;
  readonly keys: readonly VaultKeyStatus[];
}

export interface VaultKeyStatus {
  readonly id: string;
  /** `first` encrypts what is written; `older` only decrypts; `missing` is not in the configuration. */
  readonly role: 'first' | 'older' | 'missing';
  readonly entries: number;
}
