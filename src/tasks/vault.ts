import type { Config } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import { type OpenVault, openVault } from '../reading/open-vault.js';
import type { Clock } from '../runtime/clock.js';
import type { VaultKeyStatus } from '../vault/ports.js';

type VaultSettings = Pick<Config, 'database' | 'vault'>;

/** What `rosterd vault status` prints. Contains no secret and no encryption key. */
export interface VaultReport {
  readonly storage: 'files' | 'postgres';
  /** The folder of the entries; null when they are in PostgreSQL. */
  readonly folder: string | null;
  readonly entries: number;
  readonly kinds: readonly { readonly kind: string; readonly entries: number }[];
  /** Empty for files, which are not encrypted. */
  readonly keys: readonly VaultKeyStatus[];
}

export interface VaultRotated {
  readonly replaced: number;
  /** Entries that no listed key decrypts; they stay as they are. */
  readonly unreadable: readonly string[];
}

const sliceEntries = 100;

export function vaultReport(config: Config, clock: Clock): Promise<VaultReport> {
  return withVault(config, clock, async (vault) => {
    const counts = new Map<string, number>();
    for (const key of await vault.keys('')) {
      const kind = key.slice(0, key.indexOf('/'));
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    const encrypted = await vault.encrypted();
    const kinds = [...counts].map(([kind, entries]) => ({ kind, entries }));
    return {
      storage: encrypted === null ? 'files' : 'postgres',
      folder: vault.folder,
      entries: kinds.reduce((sum, { entries }) => sum + entries, 0),
      kinds,
      keys: encrypted === null ? [] : (await encrypted.status()).keys,
    };
  });
}

/** Encrypts every entry with the first key. Throws `usage` when the vault is a folder of files. */
export function rotateVault(config: Config, clock: Clock, signal: AbortSignal): Promise<VaultRotated> {
  return withVault(config, clock, async (vault) => {
    const encrypted = await vault.encrypted();
    if (encrypted === null)
      throw new Fault('usage', 'the vault is a folder of files, which are not encrypted', {
        hint: 'rosterd vault status shows the folder',
      });
    let replaced = 0;
    const unreadable: string[] = [];
    for (let more = true; more; ) {
      if (signal.aborted) throw new Fault('stopped', `stopped after ${replaced} entries; run it again`);
      const slice = await encrypted.reencrypt(sliceEntries);
      replaced += slice.replaced;
      unreadable.push(...slice.unreadable);
      more = slice.more;
    }
    return { replaced, unreadable };
  });
}

/**
 * Deletes one entry, under its lock: a refresh that is under way would store it again. Throws `usage` when there is none.
 */
export function removeFromVault(
  config: VaultSettings,
  clock: Clock,
  entry: string,
  signal: AbortSignal,
): Promise<void> {
  return withVault(config, clock, async (vault) => {
    if (!(await vault.keys(entry)).includes(entry))
      throw new Fault('usage', `the vault has no entry ${JSON.stringify(entry)}`, {
        hint: 'an entry is named sign-in/NAME, installation/ID or endpoint/MODE; rosterd vault status counts them',
      });
    await vault.withLock(entry, signal, () => vault.remove(entry));
  });
}

async function withVault<Result>(
  config: VaultSettings,
  clock: Clock,
  work: (vault: OpenVault) => Promise<Result>,
): Promise<Result> {
  const vault = openVault(config, { clock });
  try {
    return await work(vault);
  } finally {
    await vault.close();
  }
}
