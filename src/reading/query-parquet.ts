import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../domain/fault.js';
import { writeParquet } from '../exports/parquet.js';
import type { ExportColumn } from '../exports/ports.js';
import type { QueryHandle } from './query.js';
import { inQueryFolder } from './query-folders.js';
import { distinct } from './query-json-lines.js';
import { typedRows } from './query-kinds.js';

/**
 * Returns the result of a query as a Parquet file. `run` is called twice: see `typedRows`. The file is written to a
 * private folder and deleted before it is sent, so that a client that goes away leaves nothing behind; compressed, it
 * fits the memory. `check` throws for a result that may not become a file.
 */
export async function queryParquet(
  run: () => Promise<QueryHandle>,
  check: (handle: QueryHandle) => void,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  return await inQueryFolder(async (folder) => {
    const file = join(folder, 'query.parquet');
    const { rows, checkAgain } = await typedRows(run, check);
    await writeParquet(file, { ...rows, columns: parquetColumns(rows.columns) }, signal);
    checkAgain();
    return inPieces(await readFile(file));
  });
}

/**
 * Times stay texts: the columns of a file do not change their type with the rows of a query. The names of some columns are
 * not allowed in the file, and those that replace them may be there already.
 */
function parquetColumns(columns: readonly ExportColumn[]): readonly ExportColumn[] {
  if (columns.length === 0)
    throw new Fault('usage', 'the result has no column', { hint: 'Select at least one.' });
  const names = distinct(columns.map(({ name }) => name.replaceAll('"', "'") || 'column'));
  return columns.map(({ kind }, at) => ({ name: names[at] ?? '', kind: kind === 'time' ? 'text' : kind }));
}

const pieceBytes = 64 * 1_024;

async function* inPieces(file: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < file.length; from += pieceBytes) yield file.subarray(from, from + pieceBytes);
}
