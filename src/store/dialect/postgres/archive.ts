import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { Fault } from '../../../domain/fault.js';
import type { Instant } from '../../../domain/instant.js';
import { type TableProof, throwIfStopped } from '../../backup/made.js';
import type { AppliedMigration } from '../../migrate.js';

/*
 * rosterd's own archive of a PostgreSQL mirror, for hosts without pg_dump: gzip over text in UTF-8.
 *
 *     rosterd backup 1
 *     {"made_at": …, "version": …, "migrations": […], "last_seq": …, "indexes": […], "tables": [{"table", "columns"}, …]}
 *     the rows of the first table, each a line of PostgreSQL's COPY text format
 *     \.
 *     … and so on for every table, in the order of the header
 *     {"tables": [{"table", "rows", "sha256"}, …]}
 *
 * No row is `\.`, because COPY escapes backslashes.
 */
export interface ArchiveHead {
  readonly made_at: Instant;
  readonly version: string;
  readonly migrations: readonly Pick<AppliedMigration, 'number' | 'name' | 'checksum' | 'version'>[];
  /** The last number of the change feed, even if its row was purged. */
  readonly last_seq: number;
  /** The indexes on `investment_rows`. */
  readonly indexes: readonly string[];
  readonly tables: readonly { readonly table: string; readonly columns: readonly string[] }[];
}

export interface ArchivedTable {
  readonly table: string;
  readonly columns: readonly string[];
  /** The rows in COPY text format, several lines per chunk. Has to be read to its end before the next table. */
  readonly lines: AsyncIterable<Buffer>;
}

const archiveMark = 'rosterd backup 1';
const tableEnd = '\\.\n';

/** Writes an archive. Returns the rows and the digest of each table as the server sent them. */
export async function writeArchive(
  file: string,
  head: ArchiveHead,
  rowsOf: (table: string, columns: readonly string[]) => AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<readonly TableProof[]> {
  const proofs: TableProof[] = [];
  async function* content(): AsyncGenerator<Buffer | string> {
    yield `${archiveMark}\n${JSON.stringify(head)}\n`;
    for (const { table, columns } of head.tables) {
      const hash = createHash('sha256');
      let rows = 0;
      for await (const chunk of rowsOf(table, columns)) {
        throwIfStopped(signal);
        hash.update(chunk);
        rows += lineEnds(chunk);
        yield chunk;
      }
      proofs.push({ table, rows, sha256: hash.digest('hex') });
      yield tableEnd;
    }
    yield `${JSON.stringify({ tables: proofs })}\n`;
  }
  await pipeline(
    Readable.from(content(), { objectMode: true, highWaterMark: 2 }),
    createGzip({ level: 3 }),
    createWriteStream(file, { flags: 'r+' }),
  );
  return proofs;
}

/**
 * Reads an archive and passes each table to `take`. Throws `database_unusable` unless the rows of every table have the
 * count and the digest that the archive itself names.
 */
export async function readArchive(
  file: string,
  start: (head: ArchiveHead) => Promise<void>,
  take: (table: ArchivedTable) => Promise<void>,
): Promise<readonly TableProof[]> {
  const content = createGunzip();
  const bytes = createReadStream(file).once('error', (error) => content.destroy(error));
  const text = new LineReader(bytes.pipe(content));
  try {
    if ((await text.line()) !== archiveMark) throw damaged(file);
    const head = parsed(await text.line()) as ArchiveHead | null;
    if (head === null || !Array.isArray(head.tables)) throw damaged(file);
    await start(head);
    const found: TableProof[] = [];
    for (const { table, columns } of head.tables) {
      const hash = createHash('sha256');
      let rows = 0;
      const lines = async function* (): AsyncGenerator<Buffer> {
        for await (const chunk of text.untilTableEnd()) {
          hash.update(chunk);
          rows += lineEnds(chunk);
          yield chunk;
        }
      };
      await take({ table, columns, lines: lines() });
      found.push({ table, rows, sha256: hash.digest('hex') });
    }
    const proof = parsed(await text.line()) as { tables: readonly TableProof[] } | null;
    if (JSON.stringify(proof?.tables) !== JSON.stringify(found)) throw damaged(file);
    return found;
  } catch (error) {
    // zlib's own errors: a file that was cut off or changed.
    const { code } = error as NodeJS.ErrnoException;
    throw code?.startsWith('Z_') === true ? damaged(file, error) : error;
  } finally {
    text.close();
  }
}

const newLine = 0x0a;

export function lineEnds(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(newLine); at !== -1; at = chunk.indexOf(newLine, at + 1)) count += 1;
  return count;
}

/** Reads single lines, and whole tables without splitting them into lines. */
export class LineReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #stream: Readable;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: Readable) {
    this.#stream = stream;
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** Returns the next line without its end, or null at the end of the file. */
  async line(): Promise<string | null> {
    for (;;) {
      const end = this.#rest.indexOf(newLine);
      if (end !== -1) {
        const line = this.#rest.toString('utf8', 0, end);
        this.#rest = this.#rest.subarray(end + 1);
        return line;
      }
      if (!(await this.#more())) return null;
    }
  }

  /** Returns whole lines up to the end of a table. Throws when the file ends before. */
  async *untilTableEnd(): AsyncGenerator<Buffer> {
    for (;;) {
      const mark = this.#rest.subarray(0, tableEnd.length).toString('latin1');
      if (mark === tableEnd) {
        this.#rest = this.#rest.subarray(tableEnd.length);
        return;
      }
      const inner = this.#rest.indexOf(`\n${tableEnd}`);
      const end = inner === -1 ? this.#rest.lastIndexOf(newLine) : inner;
      if (end !== -1) {
        yield this.#rest.subarray(0, end + 1);
        this.#rest = this.#rest.subarray(end + 1);
        continue;
      }
      if (!(await this.#more())) throw Object.assign(new Error('cut off'), { code: 'Z_CUT_OFF' });
    }
  }

  close(): void {
    this.#stream.destroy();
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#chunks.next();
    if (done === true) return false;
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
    return true;
  }
}

function parsed(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function damaged(file: string, cause?: unknown): Fault {
  return new Fault('database_unusable', `${file} is damaged or not complete`, {
    hint: 'Check the disk. Use another backup, or make a new one.',
    cause,
  });
}
