import {
  type CredentialStore,
  fileCredentials,
  vaultCredentials,
} from '../client/tokens/credential-store.js';
import type { CredentialPlace } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import type { Vault } from '../vault/ports.js';

/** Returns the store of a rotating sign-in. */
export function credentialsAt(place: CredentialPlace, vault: Vault, clock: Clock): CredentialStore {
  return 'file' in place ? fileCredentials(place.file, clock) : vaultCredentials(vault, place.entry);
}
