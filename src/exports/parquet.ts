import { chmod, mkdtemp, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type * as DuckDb from '@duckdb/node-api';
import { Fault } from '../domain/fault.js';
import { columnTypes, converterOf, type DuckDbPackage } from './parquet-types.js';
import type { Cell, RowSource } from './ports.js';
import { folderFault, syncFolder } from './write-file.js';

/** The driver takes this many rows at a time; it is the size of its own vectors. */
const chunkRows = 2_048;
/** A reader that wants few columns skips the others per group; larger groups cost memory in the writing. */
const groupRows = 32_768;
/** Rows wait in a file, so that memory is bounded by this and not by the mirror. */
const memoryMax = '256MB';

/**
 * Writes the rows as one Parquet file, in their order, and renames it when it is whole: mode 0600, and on failure
 * nothing new is left. Parquet ends with an index of what stands in it, so the rows are gathered in a database file
 * of a private folder beside it first. Throws `stopped` when `signal` fires, `usage` when the writer is not installed,
 * the folder cannot be written to, or a number has more digits than the type holds. Answers the bytes written.
 */
export async function writeParquet(
  file: string,
  source: RowSource,
  signal: AbortSignal,
  load: () => Promise<DuckDbPackage> = () => import('@duckdb/node-api'),
): Promise<number> {
  const duckdb = await load().catch((error: unknown) => {
    throw notInstalled(error);
  });
  const folder = dirname(file);
  const workshop = await mkdtemp(join(folder, `.${basename(file)}.tmp-`)).catch((error: unknown) => {
    throw folderFault(folder, error);
  });
  try {
    const unfinished = join(workshop, 'unfinished.parquet');
    await convert(duckdb, source, workshop, unfinished, signal);
    await chmod(unfinished, 0o600);
    const bytes = await syncedSize(unfinished);
    await rename(unfinished, file);
    await syncFolder(folder);
    return bytes;
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

async function convert(
  duckdb: DuckDbPackage,
  source: RowSource,
  workshop: string,
  unfinished: string,
  signal: AbortSignal,
): Promise<void> {
  const instance = await duckdb.DuckDBInstance.create(join(workshop, 'rows.duckdb'), {
    ...{ memory_limit: memoryMax, threads: '1', temp_directory: workshop },
    // Everything needed is linked in; nothing is to be looked for elsewhere.
    ...{ autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' },
  });
  const connection = await instance.connect();
  const interrupt = () => connection.interrupt();
  signal.addEventListener('abort', interrupt);
  try {
    const columns = source.columns.map(({ name, kind }) => `"${name}" ${columnTypes[kind]}`);
    await connection.run(`CREATE TABLE "rows" (${columns.join(', ')})`);
    await append(duckdb, connection, source, signal);
    const form = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${groupRows}`;
    await connection.run(`COPY "rows" TO '${unfinished.replaceAll("'", "''")}' (${form})`);
    refuseStopped(signal);
  } catch (error) {
    refuseStopped(signal);
    throw told(error);
  } finally {
    signal.removeEventListener('abort', interrupt);
    connection.closeSync();
    instance.closeSync();
  }
}

async function append(
  duckdb: DuckDbPackage,
  connection: DuckDb.DuckDBConnection,
  { columns, rows }: RowSource,
  signal: AbortSignal,
): Promise<void> {
  const appender = await connection.createAppender('rows');
  const types = columns.map((_, index) => appender.columnType(index));
  const converters = columns.map((column) => converterOf(column, duckdb));
  // One for all batches: its memory is the driver's, which the collector of garbage knows nothing of.
  const chunk = duckdb.DuckDBDataChunk.create(types, chunkRows);
  const flush = (batch: readonly (readonly Cell[])[]) => {
    refuseStopped(signal);
    chunk.reset();
    chunk.rowCount = batch.length;
    chunk.setColumns(converters.map((convert, at) => batch.map((row) => convert(row[at] ?? null))));
    appender.appendDataChunk(chunk);
  };
  let batch: (readonly Cell[])[] = [];
  for await (const row of rows()) {
    batch.push(row);
    if (batch.length < chunkRows) continue;
    flush(batch);
    batch = [];
  }
  if (batch.length > 0) flush(batch);
  appender.closeSync();
}

function refuseStopped(signal: AbortSignal): void {
  if (signal.aborted)
    throw new Fault('stopped', 'the export was stopped before its end; no file was written');
}

async function syncedSize(file: string): Promise<number> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

function notInstalled(cause: unknown): Fault {
  return new Fault(
    'usage',
    'Parquet is written by the package @duckdb/node-api, which is not installed here',
    {
      hint: 'npm install @duckdb/node-api, or --format csv or jsonl, which need nothing',
      cause,
    },
  );
}

function told(error: unknown): unknown {
  if (!(error instanceof Error) || !/no space left/i.test(error.message)) return error;
  return new Fault('database_full', 'the disk is full: no file was written', {
    hint: 'make room, or --out FILE on another disk; about twice the size of the mirror is needed for a while',
    cause: error,
  });
}
