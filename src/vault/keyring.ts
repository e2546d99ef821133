import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { Fault } from '../domain/fault.js';
import type { Random } from '../runtime/random.js';
import { vaultKeyBytes, vaultKeyHint } from '../runtime/vault-key.js';
import type { SealedEntry } from './ports.js';

/*
 * AES-256-GCM with a random nonce of 96 bits for each write. The key of the entry is associated data: a row that
 * someone copies over another one does not decrypt. A nonce may repeat after some 2^32 writes under one key, which at
 * a write a second takes a century.
 */

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** Where a key comes from, for messages, and a way to read it. */
export interface KeySource {
  readonly name: string;
  readonly reveal: () => Promise<string>;
}

/** Encrypts with the first key and decrypts with any. Holds at least one key. */
export class Keyring {
  readonly #keys: ReadonlyMap<string, Buffer>;

  private constructor(
    keys: ReadonlyMap<string, Buffer>,
    /** The id of the first key. */
    readonly firstId: string,
    private readonly random: Random,
  ) {
    this.#keys = keys;
  }

  /** Reads every key. Throws `usage` for one that cannot be read, has another length or is listed twice. */
  static async from(sources: readonly KeySource[], random: Random): Promise<Keyring> {
    const keys = new Map<string, Buffer>();
    for (const { name, reveal } of sources) {
      const bytes = vaultKeyBytes((await reveal()).trim());
      if (bytes === null) throw new Fault('usage', `${name}: is not a key`, { hint: vaultKeyHint });
      const id = idOf(bytes);
      if (keys.has(id))
        throw new Fault('usage', `${name}: is key ${id}, which is listed before`, {
          hint: 'list each key once: the first encrypts, all decrypt',
        });
      keys.set(id, bytes);
    }
    const [first] = keys.keys();
    if (first === undefined) throw new Error('a keyring needs a key');
    return new Keyring(keys, first, random);
  }

  get ids(): readonly string[] {
    return [...this.#keys.keys()];
  }

  has(id: string): boolean {
    return this.#keys.has(id);
  }

  seal(key: string, secret: string): SealedEntry {
    const nonce = this.random.bytes(nonceBytes);
    const encrypting = createCipheriv(cipher, this.#bytes(this.firstId), nonce, { authTagLength: tagBytes });
    encrypting.setAAD(associated(key));
    const text = Buffer.concat([encrypting.update(secret, 'utf8'), encrypting.final()]);
    const sealed = Buffer.concat([nonce, text, encrypting.getAuthTag()]).toString('base64');
    return { key, keyId: this.firstId, sealed };
  }

  /** Throws `usage` when the key is not listed, and `database_unusable` when the entry is not what was written. */
  open({ key, keyId, sealed }: SealedEntry): string {
    const bytes = this.#keys.get(keyId);
    if (bytes === undefined)
      throw new Fault(
        'usage',
        `the vault entry "${key}" is encrypted with key ${keyId}, which is not listed`,
        {
          hint: `add that key to vault.keys; listed: ${this.ids.join(', ')}`,
        },
      );
    const all = Buffer.from(sealed, 'base64');
    try {
      const decrypting = createDecipheriv(cipher, bytes, all.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      });
      decrypting.setAAD(associated(key));
      decrypting.setAuthTag(all.subarray(-tagBytes));
      const text = decrypting.update(all.subarray(nonceBytes, -tagBytes));
      return Buffer.concat([text, decrypting.final()]).toString('utf8');
    } catch {
      throw unreadable(key);
    }
  }

  #bytes(id: string): Buffer {
    const bytes = this.#keys.get(id);
    if (bytes === undefined) throw new Error(`the keyring has no key ${id}`);
    return bytes;
  }
}

/** Names a key without revealing it: a hash of 256 random bits cannot be inverted or guessed. */
function idOf(bytes: Buffer): string {
  return createHash('sha256').update('rosterd-vault-key\0').update(bytes).digest('hex').slice(0, 12);
}

const associated = (key: string): Buffer => Buffer.from(`rosterd-vault 1\0${key}`, 'utf8');

function unreadable(key: string): Fault {
  return new Fault(
    'database_unusable',
    `the vault entry "${key}" does not decrypt: its row was changed or copied from another entry`,
    {
      hint: `restore the row, or remove the entry and sign in or connect again: rosterd vault remove ${key}`,
    },
  );
}
