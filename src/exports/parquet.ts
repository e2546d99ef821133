import { chmod, mkdtemp, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFile, syncFolder } from '../runtime/sync-file.js';
import { type LoadDuckDb, refuseQuestionMark, withWorkshop } from './duckdb.js';
import type { RowSource } from './ports.js';
import { unfinishedStart, whileUnfinished } from './unfinished.js';
import { folderFault } from './write-file.js';

/**
 * Writes the rows in order to one Parquet file with mode 0600, and renames it when it is complete; a failure leaves no
 * file. Rows are first buffered in a database file in a private folder next to it. Returns the number of bytes written.
 * Throws `stopped` when `signal` aborts, and `usage` when the writer is not installed, the folder cannot be written to,
 * the path contains a question mark, or a number has more digits than its type.
 */
export async function writeParquet(
  file: string,
  source: RowSource,
  signal: AbortSignal,
  load: LoadDuckDb = () => import('@duckdb/node-api'),
): Promise<number> {
  refuseQuestionMark(file, 'Name a file and a folder without one, or use --format csv or jsonl.');
  const folder = dirname(file);
  const workshop = await mkdtemp(unfinishedStart(file)).catch((error: unknown) => {
    throw folderFault(folder, error);
  });
  return await whileUnfinished(workshop, file, async () => {
    const unfinished = join(workshop, 'unfinished.parquet');
    await withWorkshop(workshop, signal, load, async (duckdb) => {
      await duckdb.load('rows', source);
      await duckdb.copy('FROM "rows"', unfinished);
    });
    await chmod(unfinished, 0o600);
    await syncFile(unfinished);
    const { size } = await stat(unfinished);
    await rename(unfinished, file);
    await syncFolder(folder);
    return size;
  });
}
