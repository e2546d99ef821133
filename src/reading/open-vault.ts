import type { Config } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import type { Interruption } from '../runtime/interruption.js';
import { isSharedProcessGone, processName } from '../runtime/process-identity.js';
import { type Random, systemRandom } from '../runtime/random.js';
import type { PostgresLocation } from '../store/database-location.js';
import type { EncryptedVault } from '../vault/encrypted-vault.js';
import { openFileVault } from '../vault/file-vault.js';
import type { Vault } from '../vault/ports.js';

/** The vault of a configuration. */
export interface OpenVault extends Vault {
  /** The folder of the entries; null when they are encrypted in PostgreSQL. */
  readonly folder: string | null;
  /** Reads the encryption keys again before the next use. */
  reload(): void;
  /** The vault as something to rotate; null when its entries are files. */
  encrypted(): Promise<EncryptedVault | null>;
  close(): Promise<void>;
}

export interface OpenVaultParts {
  readonly clock: Clock;
  readonly random?: Random;
}

/** Opens nothing before the first use: a configuration whose secrets are elsewhere never touches the vault. */
export function openVault(
  { database, vault: { folder, keys } }: Pick<Config, 'database' | 'vault'>,
  { clock, random = systemRandom }: OpenVaultParts,
): OpenVault {
  // The configuration allows keys for a server only.
  if (keys.length === 0 || !('url' in database)) {
    return Object.assign(openFileVault({ folder, clock }), {
      folder,
      reload: () => {},
      encrypted: async () => null,
      close: async () => {},
    });
  }
  const sources = keys.map((key) => ({ name: key.name, reveal: () => key.reveal() }));
  return new LazyVault(async () => {
    const { openEncryptedVault } = await import('../vault/encrypted-vault.js');
    const entries = await entriesOf(database);
    return openEncryptedVault({ entries, keys: sources, holder: processName(), clock, random });
  });
}

/** Loads the driver only now. */
async function entriesOf(place: PostgresLocation) {
  const { openPostgresVault } = await import('../store/dialect/postgres/vault.js');
  return openPostgresVault(place, { isGone: isSharedProcessGone });
}

class LazyVault implements OpenVault {
  readonly folder = null;
  #vault: Promise<EncryptedVault> | undefined;

  constructor(private readonly open: () => Promise<EncryptedVault>) {}

  encrypted(): Promise<EncryptedVault> {
    this.#vault ??= this.open();
    return this.#vault;
  }

  async read(key: string): Promise<string | null> {
    return await (await this.encrypted()).read(key);
  }

  async write(key: string, secret: string): Promise<void> {
    await (await this.encrypted()).write(key, secret);
  }

  async requireWritable(): Promise<void> {
    await (await this.encrypted()).requireWritable();
  }

  async remove(key: string): Promise<void> {
    await (await this.encrypted()).remove(key);
  }

  async keys(prefix: string): Promise<readonly string[]> {
    return await (await this.encrypted()).keys(prefix);
  }

  async withLock<R>(
    key: string,
    signal: Interruption,
    work: (isMine: () => Promise<boolean>) => Promise<R>,
  ): Promise<R> {
    return await (await this.encrypted()).withLock(key, signal, work);
  }

  reload(): void {
    void this.#vault?.then((vault) => vault.reload());
  }

  async close(): Promise<void> {
    await (await this.#vault)?.close();
  }
}
