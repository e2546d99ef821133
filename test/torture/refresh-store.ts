import {
  type CredentialStore,
  fileCredentials,
  vaultCredentials,
} from '../../src/client/tokens/credential-store.js';
import { systemClock } from '../../src/runtime/clock.js';
import { isSharedProcessGone, processName } from '../../src/runtime/process-identity.js';
import { systemRandom } from '../../src/runtime/random.js';
import type { Disk } from '../../src/runtime/replace-file.js';

/** Where a sign-in is stored: a file of this host, or an entry of the vault that hosts share on a server. */
export type SignInPlace =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'vault'; readonly url: string; readonly encryptionKey: string; readonly entry: string };

export interface OpenStore {
  readonly store: CredentialStore;
  close(): Promise<void>;
}

/** Loads what a vault needs only for a vault: in a process that refreshes once, loading takes the longest. */
export async function openStore(place: SignInPlace, disk?: Disk): Promise<OpenStore> {
  if (place.kind === 'file')
    return { store: fileCredentials(place.path, systemClock, disk), close: async () => {} };
  const [{ openPostgresVault }, { openEncryptedVault }] = await Promise.all([
    import('../../src/store/dialect/postgres/vault.js'),
    import('../../src/vault/encrypted-vault.js'),
  ]);
  const vault = openEncryptedVault({
    entries: openPostgresVault(
      { kind: 'postgres', url: place.url, password: null },
      { isGone: isSharedProcessGone },
    ),
    keys: [{ name: 'vault.keys[0]', reveal: async () => place.encryptionKey }],
    holder: processName(),
    clock: systemClock,
    random: systemRandom,
  });
  return { store: vaultCredentials(vault, place.entry), close: () => vault.close() };
}
