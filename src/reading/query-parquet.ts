import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeParquet } from '../exports/parquet.js';
import type { ExportColumn } from '../exports/ports.js';
import type { QueryHandle } from './query.js';
import { inQueryFolder } from './query-folders.js';
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
    await writeParquet(file, { ...rows, columns: rows.columns.map(parquetColumn) }, signal);
    checkAgain();
    return inPieces(await readFile(file));
  });
}

/** Times stay texts: the columns of a file do not change their type with the rows of a query. */
const parquetColumn = ({ name, kind }: ExportColumn): ExportColumn => ({
  name: name.replaceAll('"', "'"),
  kind: kind === 'time' ? 'text' : kind,
});

const pieceBytes = 64 * 1_024;

async function* inPieces(file: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < file.length; from += pieceBytes) yield file.subarray(from, from + pieceBytes);
}
