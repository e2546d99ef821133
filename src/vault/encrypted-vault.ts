import { Fault, isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter, type Interruption } from '../runtime/interruption.js';
import { type Random, randomText } from '../runtime/random.js';
import { checkedKey } from './entry-key.js';
import { Keyring, type KeySource } from './keyring.js';
import type { SealedEntries, SealedEntry, Vault, VaultStatus } from './ports.js';

export interface EncryptedVaultParts {
  readonly entries: SealedEntries;
  readonly keys: readonly KeySource[];
  /** The name of this process, as in leases. */
  readonly holder: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** A vault in a database that several hosts share. Reads its encryption keys at the first use. */
export interface EncryptedVault extends Vault {
  /** Reads the encryption keys again before the next use. */
  reload(): void;
  /** Throws `usage` when an encryption key cannot be used. */
  checkKeys(): Promise<void>;
  status(): Promise<VaultStatus>;
  /**
   * Encrypts at most `limit` entries with the first key. The next call goes on after them. Returns how many it replaced,
   * the keys of those that do not decrypt, and whether any may be left.
   */
  reencrypt(limit: number): Promise<Reencrypted>;
  close(): Promise<void>;
}

export interface Reencrypted {
  readonly replaced: number;
  readonly unreadable: readonly string[];
  readonly more: boolean;
}

/** A lock whose holder died without releasing it is free after 20 s, so the others wait longer. */
const waitMillisMax = 60_000;
const pollMillis = 200;
const renewMillis = 5_000;

export function openEncryptedVault(parts: EncryptedVaultParts): EncryptedVault {
  return new Encrypted(parts);
}

class Encrypted implements EncryptedVault {
  readonly #parts: EncryptedVaultParts;
  #keyring: Keyring | undefined;
  #loading: Promise<Keyring> | undefined;
  #isStale = false;
  /** Counts reloads: keys whose reading began before the last one may be old. */
  #reloads = 0;
  /** The locks of this process: a write under one of them carries its fence. */
  readonly #fences = new Map<string, number>();
  #reencryptAfter = '';

  constructor(parts: EncryptedVaultParts) {
    this.#parts = parts;
  }

  reload(): void {
    this.#isStale = true;
    this.#reloads += 1;
    this.#loading = undefined;
  }

  async checkKeys(): Promise<void> {
    await this.#keys();
  }

  async read(key: string): Promise<string | null> {
    const entry = await this.#parts.entries.read(checkedKey(key));
    return entry === null ? null : await this.#opened(entry);
  }

  async write(key: string, secret: string): Promise<void> {
    checkedKey(key);
    if (secret === '') throw new Error('a vault entry cannot be empty');
    const { entries } = this.#parts;
    const sealed = (await this.#keys()).seal(key, secret);
    if (!(await entries.write(sealed, this.#fences.get(key) ?? null))) throw takenOver(key);
  }

  /** Checks the first key, which a write needs. Only a write shows whether the server accepts it. */
  async requireWritable(): Promise<void> {
    await this.#keys();
  }

  async remove(key: string): Promise<void> {
    await this.#parts.entries.remove(checkedKey(key));
  }

  async keys(prefix: string): Promise<readonly string[]> {
    return await this.#parts.entries.keys(prefix);
  }

  async withLock<R>(
    key: string,
    signal: Interruption,
    work: (isMine: () => Promise<boolean>) => Promise<R>,
  ): Promise<R> {
    const { entries } = this.#parts;
    const fence = await this.#claim(checkedKey(key), signal);
    this.#fences.set(key, fence);
    const ended = new Interrupter();
    const renewing = this.#keepRenewing(key, fence, ended);
    try {
      return await work(() => entries.renew(key, fence));
    } finally {
      ended.abort();
      await renewing;
      if (this.#fences.get(key) === fence) this.#fences.delete(key);
      // A lock that cannot be released expires.
      await entries.release(key, fence).catch(() => {});
    }
  }

  async status(): Promise<VaultStatus> {
    const keyring = await this.#keys();
    const counted = await this.#parts.entries.byKeyId();
    const ids = [...new Set([...keyring.ids, ...counted.map(({ keyId }) => keyId)])];
    const keys = ids.map((id) => ({
      id,
      role:
        id === keyring.firstId
          ? ('first' as const)
          : keyring.has(id)
            ? ('older' as const)
            : ('missing' as const),
      entries: counted.find(({ keyId }) => keyId === id)?.entries ?? 0,
    }));
    return { entries: keys.reduce((sum, { entries }) => sum + entries, 0), keys };
  }

  async reencrypt(limit: number): Promise<Reencrypted> {
    const { entries } = this.#parts;
    const keyring = await this.#keys();
    const found = await entries.underOtherKeys(keyring.firstId, this.#reencryptAfter, limit);
    let replaced = 0;
    const unreadable: string[] = [];
    for (const before of found) {
      this.#reencryptAfter = before.key;
      // One damaged entry must not keep the others under an old key.
      const secret = readableOrNull(keyring, before);
      if (secret === null) unreadable.push(before.key);
      else if (await entries.replace(before, keyring.seal(before.key, secret))) replaced += 1;
    }
    const more = found.length === limit;
    if (!more) this.#reencryptAfter = '';
    return { replaced, unreadable, more };
  }

  async close(): Promise<void> {
    await this.#parts.entries.close();
  }

  /** Reads the keys again for an entry of an unknown one: another host may have begun a rotation. */
  async #opened(entry: SealedEntry): Promise<string> {
    const keyring = await this.#keys();
    if (keyring.has(entry.keyId)) return keyring.open(entry);
    this.reload();
    return (await this.#keys()).open(entry);
  }

  /** Keys that cannot be read now do not replace those that work: the next use tries again. */
  #keys(): Promise<Keyring> {
    const before = this.#keyring;
    if (before !== undefined && !this.#isStale) return Promise.resolve(before);
    if (this.#loading !== undefined) return this.#loading;
    const loading = this.#load(before).finally(() => {
      if (this.#loading === loading) this.#loading = undefined;
    });
    this.#loading = loading;
    return loading;
  }

  async #load(before: Keyring | undefined): Promise<Keyring> {
    const { keys, random } = this.#parts;
    const reloads = this.#reloads;
    try {
      const keyring = await Keyring.from(keys, random);
      if (reloads === this.#reloads) {
        this.#keyring = keyring;
        this.#isStale = false;
      }
      return keyring;
    } catch (error) {
      if (before === undefined) throw error;
      return before;
    }
  }

  async #claim(key: string, signal: Interruption): Promise<number> {
    const { entries, clock, random, holder } = this.#parts;
    const from = clock.monotonic();
    const me = `${holder}:${randomText(random, 8)}`;
    while (clock.monotonic() - from < waitMillisMax) {
      if (signal.aborted) throw new Fault('stopped', `stopped while waiting for the vault entry "${key}"`);
      const fence = await entries.claim(key, me);
      if (fence !== null) return fence;
      await clock.wait(pollMillis, signal);
    }
    throw new Fault(
      'unreachable',
      `another process has held the vault entry "${key}" for ${waitMillisMax / 1000} s`,
    );
  }

  async #keepRenewing(key: string, fence: number, ended: Interruption): Promise<void> {
    const { entries, clock } = this.#parts;
    for (;;) {
      await clock.wait(renewMillis, ended);
      if (ended.aborted) return;
      // A failed renewal is noticed by `isMine`, and by the fence of a write.
      await entries.renew(key, fence).catch(() => false);
    }
  }
}

function readableOrNull(keyring: Keyring, entry: SealedEntry): string | null {
  try {
    return keyring.open(entry);
  } catch (error) {
    if (isFault(error)) return null;
    throw error;
  }
}

function takenOver(key: string): Fault {
  return new Fault('unreachable', `another process took over the vault entry "${key}"`);
}
