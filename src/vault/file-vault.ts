import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../domain/fault.js';
import { shellWord } from '../domain/shell-word.js';
import type { Clock } from '../runtime/clock.js';
import { withFileLock } from '../runtime/file-lock.js';
import type { Interruption } from '../runtime/interruption.js';
import { makePrivateFolder } from '../runtime/private-file.js';
import { type Disk, replaceFile, systemDisk } from '../runtime/replace-file.js';
import { unreadable, unwritable } from '../runtime/unwritable.js';
import { entryOfFile, fileOfEntry } from './entry-file.js';
import { checkedKey } from './entry-key.js';
import type { Vault } from './ports.js';

export interface FileVaultParts {
  /** Created with mode 0700 at the first write. */
  readonly folder: string;
  readonly clock: Clock;
  readonly disk?: Disk;
}

const othersMask = 0o077;

const readAccess = 'give the user that runs rosterd read access';

/** No entry, which would end in `.secret`. */
const triedName = 'writable.tried';
const triedText = 'x'.repeat(200);

/** A vault of one host: each entry is a file with mode 0600, replaced durably. */
export function openFileVault(parts: FileVaultParts): Vault {
  return new FileVault(parts);
}

class FileVault implements Vault {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #disk: Disk;
  /** The last write or removal of each key. A replacement uses one temporary file, so they take turns. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor({ folder, clock, disk = systemDisk }: FileVaultParts) {
    this.#folder = folder;
    this.#clock = clock;
    this.#disk = disk;
  }

  async read(key: string): Promise<string | null> {
    const path = this.#path(key);
    const text = await readPrivate(path, key);
    if (text === '')
      throw new Fault('usage', `the vault entry "${key}" is empty: ${path}`, {
        hint: 'delete the file; rosterd writes it again',
      });
    return text;
  }

  async write(key: string, secret: string): Promise<void> {
    const path = this.#path(key);
    if (secret === '') throw new Error('a vault entry cannot be empty');
    await this.#inTurn(key, async () => {
      await this.#makeFolder();
      await replaceFile(path, secret, this.#disk);
    });
  }

  /** Writes a file as large as a secret and deletes it: a right to write may be there, and no room. */
  async requireWritable(): Promise<void> {
    const path = join(this.#folder, triedName);
    try {
      await this.#makeFolder();
      await this.#disk.write(path, triedText);
      await this.#disk.sync(path);
    } catch (error) {
      const { code, path: failed } = error as NodeJS.ErrnoException;
      // Another process that tries at the same moment made or deleted the file.
      const isOthers = failed === path && (code === 'EEXIST' || code === 'ENOENT');
      if (!isOthers) throw unwritable(`the folder ${this.#folder}`, error);
    } finally {
      await rm(path, { force: true }).catch(() => {});
    }
  }

  async remove(key: string): Promise<void> {
    const path = this.#path(key);
    await this.#inTurn(key, async () => {
      // A write that a crash interrupted left its secret in the temporary file.
      await rm(`${path}.new`, { force: true });
      await rm(path, { force: true });
      await this.#disk.syncFolder(this.#folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    });
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw unreadable(`the folder ${this.#folder}`, error, readAccess);
    });
    return names
      .map(entryOfFile)
      .filter((key) => key !== undefined)
      .filter((key) => key.startsWith(prefix))
      .sort();
  }

  async withLock<R>(
    key: string,
    signal: Interruption,
    work: (isMine: () => Promise<boolean>) => Promise<R>,
  ): Promise<R> {
    const path = this.#path(key);
    await this.#makeFolder().catch((error: unknown) => {
      throw unwritable(`the folder ${this.#folder}`, error);
    });
    return withFileLock({ path: `${path}.lock`, clock: this.#clock, signal }, work);
  }

  #path(key: string): string {
    return join(this.#folder, fileOfEntry(checkedKey(key)));
  }

  async #makeFolder(): Promise<void> {
    await makePrivateFolder(this.#folder);
  }

  async #inTurn(key: string, work: () => Promise<void>): Promise<void> {
    const turn = (this.#writing.get(key) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => {});
    this.#writing.set(key, settled);
    try {
      await turn;
    } catch (error) {
      throw unwritable(`the vault entry "${key}" in ${this.#folder}`, error);
    } finally {
      if (this.#writing.get(key) === settled) this.#writing.delete(key);
    }
  }
}

/** Reads mode and content from the same open file, so the file cannot be replaced between the check and the read. */
async function readPrivate(path: string, key: string): Promise<string | null> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw unreadable(`the vault entry "${key}" in ${path}`, error, readAccess);
  });
  if (file === null) return null;
  try {
    const { mode } = await file.stat();
    if (process.platform !== 'win32' && (mode & othersMask) !== 0)
      throw new Fault(
        'usage',
        `the vault entry "${key}" is open to others (mode ${(mode & 0o777).toString(8)})`,
        {
          hint: `chmod 600 ${shellWord(path)}`,
        },
      );
    return await file.readFile('utf8').catch((error: unknown) => {
      throw unreadable(`the vault entry "${key}" in ${path}`, error, readAccess);
    });
  } finally {
    await file.close();
  }
}
