import { rm } from 'node:fs/promises';
import type { EndpointConfig } from '../config/config.js';
import type { Interruption } from '../runtime/interruption.js';
import type { Vault } from '../vault/ports.js';
import {
  type EndpointState,
  endpointStateText,
  parseEndpointState,
  readEndpointState,
  unknownEndpoint,
  writeEndpointState,
} from './state.js';

/** Where the state of the managed endpoint is stored. */
export interface EndpointStore {
  /** The file or the vault entry, for messages and logs. */
  readonly place: string;
  /** Whether other hosts read and write it, too. */
  readonly shared: boolean;
  /** Returns `unknownEndpoint` when nothing is stored yet. Throws when it cannot be read. */
  read(): Promise<EndpointState>;
  /** Durable when it resolves. */
  write(state: EndpointState): Promise<void>;
  /** One process at a time changes the endpoint. */
  withLock<R>(signal: Interruption, work: () => Promise<R>): Promise<R>;
}

/** Returns the store of an endpoint: an entry of the vault that every host reads, or a file of this host. */
export function endpointStore({ file, entry }: EndpointConfig, vault: Vault): EndpointStore {
  return entry === null ? fileStore(file) : entryStore(vault, entry, file);
}

/** One daemon uses the file, so it needs no lock. */
function fileStore(file: string): EndpointStore {
  return {
    place: file,
    shared: false,
    read: () => readEndpointState(file),
    write: (state) => writeEndpointState(file, state),
    withLock: (_signal, work) => work(),
  };
}

/** A host that managed the endpoint before with a file adds that state, so that no secret in use is lost. */
function entryStore(vault: Vault, entry: string, file: string): EndpointStore {
  const read = async (): Promise<EndpointState> => {
    const text = await vault.read(entry);
    return text === null ? await readEndpointState(file) : parseEndpointState(text);
  };
  return {
    place: `the vault entry "${entry}"`,
    shared: true,
    read,
    write: (state) => vault.write(entry, endpointStateText(state)),
    withLock: (signal, work) =>
      vault.withLock(entry, signal, async () => {
        if ((await vault.read(entry)) === null) {
          const before = await readEndpointState(file);
          if (before !== unknownEndpoint) {
            await vault.write(entry, endpointStateText(before));
            // From now on the secrets are in one place, and an entry that an operator removes does not come back.
            await rm(file, { force: true });
          }
        }
        return await work();
      }),
  };
}
