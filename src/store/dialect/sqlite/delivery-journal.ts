import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { isProcessThere, processName } from '../../../runtime/process-identity.js';
import { syncFolderNow } from '../../../runtime/sync-file.js';
import { type DeliveryRow, deliveryColumns } from '../../delivery-row.js';

/** Stores rows in the inbox, in one durable transaction. A row that is already there changes nothing. */
export type StoreDeliveries = (rows: readonly DeliveryRow[]) => unknown;

/** Rows of one transaction when the journal is emptied: few enough for a short turn of the event loop. */
const rowsAtOnce = 256;
/** Some ten thousand deliveries. What exceeds this waits for the database instead. */
const bytesMax = 16 * 1024 * 1024;

/**
 * Accepts deliveries while the database's write lock is held for long: by a child process that builds an index or rewrites the
 * file, or by another program. They are lines of a file beside the database, on the disk before `append` returns, and are moved
 * to the inbox before other writers continue. The rows contain no personal data: see `redactBody`.
 *
 * The file's name includes the process, so that another one finds the journal of a process that ended before it could
 * empty it.
 */
export class DeliveryJournal {
  readonly #path: string;
  #rows: DeliveryRow[] = [];
  #bytes = 0;
  #descriptor: number | undefined;

  constructor(
    database: string,
    private readonly store: StoreDeliveries,
    process = processName(),
  ) {
    this.#path = `${prefixOf(database)}${encodeURIComponent(process)}`;
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  /** Appends rows durably. Throws when that fails or the journal is full; then none of them count. */
  append(rows: readonly DeliveryRow[]): void {
    const text = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const descriptor = this.#opened();
    if (this.#bytes + text.length > bytesMax) throw new Error('the journal of deliveries is full');
    try {
      writeFileSync(descriptor, text);
      fdatasyncSync(descriptor);
    } catch (error) {
      // An incomplete line would spoil the next one.
      ftruncateSync(descriptor, this.#bytes);
      throw error;
    }
    this.#rows.push(...rows);
    this.#bytes += text.length;
  }

  /** Moves all rows to the inbox and removes the file. Throws what `store` throws; the rows then stay. */
  async empty(): Promise<void> {
    while (this.#rows.length > rowsAtOnce) {
      this.#moveSome();
      await setImmediate();
    }
    this.#moveSome();
    if (this.#descriptor === undefined) return;
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
    this.#bytes = 0;
    rmSync(this.#path, { force: true });
  }

  /**
   * Leaves what could not be moved to whatever opens the inbox next, which may be this process, after it has read its
   * configuration again: another journal of the same name would be removed with these rows in it.
   */
  leave(): void {
    if (this.#descriptor === undefined) return;
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
    this.#rows = [];
    this.#bytes = 0;
    let number = 1;
    while (existsSync(`${this.#path}-left-${number}`)) number += 1;
    renameSync(this.#path, `${this.#path}-left-${number}`);
  }

  #moveSome(): void {
    const some = this.#rows.slice(0, rowsAtOnce);
    if (some.length === 0) return;
    this.store(some);
    this.#rows = this.#rows.slice(some.length);
  }

  #opened(): number {
    if (this.#descriptor !== undefined) return this.#descriptor;
    const descriptor = openSync(this.#path, 'a', 0o600);
    try {
      // The file's name is durable only once its folder is synced.
      syncFolderNow(dirname(this.#path));
      // A file that could not be removed when it was emptied still has its lines.
      this.#bytes = fstatSync(descriptor).size;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    this.#descriptor = descriptor;
    return descriptor;
  }
}

export interface Recovered {
  readonly moved: number;
  /** Complete lines that are no delivery. Their journals are kept under another name. */
  readonly unreadable: number;
}

/**
 * Moves the deliveries of processes that ended before they could empty their journal to the inbox. A journal with lines
 * that cannot be read is kept beside the database, because a delivery in it may have been accepted.
 */
export function recoverDeliveries(database: string, store: StoreDeliveries): Recovered {
  const found = unrecovered(database);
  for (;;) {
    const { done, value } = found.next();
    if (done === true) return value;
    store(value);
  }
}

/** The same between other work of the event loop: a full journal takes a second. */
export async function recoverInTurns(
  database: string,
  store: (rows: readonly DeliveryRow[]) => Promise<unknown>,
): Promise<Recovered> {
  const found = unrecovered(database);
  for (;;) {
    const { done, value } = found.next();
    if (done === true) return value;
    await store(value);
    await setImmediate();
  }
}

/** Yields the rows of one transaction after the other. Removes a journal once its last ones are stored. */
function* unrecovered(database: string): Generator<readonly DeliveryRow[], Recovered> {
  const prefix = basename(prefixOf(database));
  const recovered = { moved: 0, unreadable: 0 };
  for (const name of readdirSync(dirname(database))) {
    if (!name.startsWith(prefix) || isProcessThere(ownerOf(name.slice(prefix.length)))) continue;
    const path = join(dirname(database), name);
    // The last line is incomplete when the machine stopped while it was written; its sender got no answer.
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    let unreadable = 0;
    for (let from = 0; from < lines.length; from += rowsAtOnce) {
      const some = lines.slice(from, from + rowsAtOnce);
      const rows = some.map(rowOf).filter((row) => row !== null);
      if (rows.length > 0) yield rows;
      recovered.moved += rows.length;
      unreadable += some.length - rows.length;
    }
    if (unreadable === 0) rmSync(path, { force: true });
    else renameSync(path, `${database}-unreadable-${name.slice(basename(database).length + 1)}`);
    recovered.unreadable += unreadable;
  }
  return recovered;
}

const prefixOf = (database: string) => `${database}-deliveries-`;

function ownerOf(suffix: string): string {
  try {
    return decodeURIComponent(suffix);
  } catch {
    return '';
  }
}

function rowOf(line: string): DeliveryRow | null {
  try {
    const row: unknown = JSON.parse(line);
    return Array.isArray(row) && row.length === deliveryColumns.length ? (row as DeliveryRow) : null;
  } catch {
    return null;
  }
}
