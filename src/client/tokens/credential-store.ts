import { dirname } from 'node:path';
import { Fault } from '../../domain/fault.js';
import type { Clock } from '../../runtime/clock.js';
import { withFileLock } from '../../runtime/file-lock.js';
import type { Interruption } from '../../runtime/interruption.js';
import { makePrivateFolder } from '../../runtime/private-file.js';
import type { Disk } from '../../runtime/replace-file.js';
import { unwritable } from '../../runtime/unwritable.js';
import type { Vault } from '../../vault/ports.js';
import {
  type Credentials,
  credentialsText,
  parseCredentials,
  readCredentials,
  writeCredentials,
} from './credentials-file.js';
import { signInHint } from './sign-in-hint.js';

/** Where one rotating sign-in is stored, with a lock over all processes that may refresh it. */
export interface CredentialStore {
  /** The file or the vault entry, for messages and logs. */
  readonly place: string;
  /** Throws `reauthorize` when there is no sign-in yet or it is not usable. */
  read(): Promise<Credentials>;
  /** Durable when it resolves. No caller may use the tokens before. Hold the lock. */
  write(credentials: Credentials): Promise<void>;
  withLock<R>(signal: Interruption, work: (isMine: () => Promise<boolean>) => Promise<R>): Promise<R>;
}

/** A file of this host; the lock file is next to it. Creates the folder for the first sign-in. */
export function fileCredentials(path: string, clock: Clock, disk?: Disk): CredentialStore {
  return {
    place: path,
    read: () => readCredentials(path),
    write: (credentials) => writeCredentials(path, credentials, disk),
    withLock: async (signal, work) => {
      await makePrivateFolder(dirname(path)).catch((error: unknown) => {
        throw unwritable(`the folder of ${path}`, error);
      });
      return await withFileLock({ path: `${path}.lock`, clock, signal }, work);
    },
  };
}

/** An entry of the vault, which every host may refresh. */
export function vaultCredentials(vault: Vault, key: string): CredentialStore {
  const place = `the vault entry "${key}"`;
  return {
    place,
    read: async () => {
      const text = await vault.read(key);
      if (text !== null) return parseCredentials(place, text);
      throw new Fault('reauthorize', `there is no sign-in yet: the vault has no entry "${key}"`, {
        hint: signInHint,
      });
    },
    write: (credentials) => vault.write(key, credentialsText(credentials)),
    withLock: (signal, work) => vault.withLock(key, signal, work),
  };
}
