import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../domain/fault.js';
import { writeParquet } from '../exports/parquet.js';
import type { Cell, ExportColumn } from '../exports/ports.js';
import { cellOf, type QueryHandle, type SqlValue } from './query.js';
import { inQueryFolder } from './query-folders.js';
import { distinct } from './query-json-lines.js';

type Kind = Extract<ExportColumn['kind'], 'number' | 'real' | 'text'>;

/** The integers of Parquet's INT64. */
const largest = 2n ** 63n;

/**
 * Returns the result of a query as a Parquet file. `run` is called twice: the columns of a query have no type, so the first
 * run finds one that holds every value, and the second writes them. The file is written to a private folder and deleted
 * before it is sent, so that a client that goes away leaves nothing behind; compressed, it fits the memory. `check` throws for a result that may not become a file.
 */
export async function queryParquet(
  run: () => Promise<QueryHandle>,
  check: (handle: QueryHandle) => void,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const first = await run();
  const kinds = await kindsOf(first);
  check(first);
  return await inQueryFolder(async (folder) => {
    const file = join(folder, 'query.parquet');
    const handle = await run();
    const names = distinct(handle.columns);
    const columns = names.map(
      (name, at): ExportColumn => ({ name: name.replaceAll('"', "'"), kind: kinds[at] ?? 'text' }),
    );
    const rows = async function* () {
      for await (const row of handle.rows) yield row.map((value, at) => cellAs(kinds[at] ?? 'text', value));
    };
    await writeParquet(file, { columns, rows }, signal);
    check(handle);
    return inPieces(await readFile(file));
  });
}

const pieceBytes = 64 * 1_024;

async function* inPieces(file: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < file.length; from += pieceBytes) yield file.subarray(from, from + pieceBytes);
}

/** Reads the rows and returns for each column the narrowest kind that holds every value. */
async function kindsOf({ columns, rows }: QueryHandle): Promise<readonly Kind[]> {
  const kinds: (Kind | null)[] = columns.map(() => null);
  for await (const row of rows)
    for (const [at, value] of row.entries()) {
      const kind = kindOf(value);
      const before = kinds[at] ?? null;
      if (kind === null || kind === before) continue;
      kinds[at] = before === null ? kind : before === 'text' || kind === 'text' ? 'text' : 'real';
    }
  return kinds.map((kind) => kind ?? 'text');
}

function kindOf(value: SqlValue): Kind | null {
  if (value === null) return null;
  if (typeof value === 'bigint') return value < largest && value >= -largest ? 'number' : 'text';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'number' : 'real';
  return 'text';
}

function cellAs(kind: Kind, value: SqlValue): Cell {
  if (value === null) return null;
  if (kind === 'text') return String(cellOf(value));
  const now = kindOf(value);
  if (now === kind || (kind === 'real' && now === 'number')) return cellOf(value);
  throw new Fault('usage', 'the data changed while the file was written', { hint: 'Download it again.' });
}
