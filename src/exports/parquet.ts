import { chmod, mkdtemp, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type * as DuckDb from '@duckdb/node-api';
import { Fault } from '../domain/fault.js';
import { columnTypes, converterOf, type DuckDbPackage } from './parquet-types.js';
import type { Cell, RowSource } from './ports.js';
import { folderFault, syncFolder } from './write-file.js';

/** Rows per chunk: the vector size of DuckDB. */
const chunkRows = 2_048;
/** Rows per row group, within which readers can skip columns; larger groups need more memory to write. */
const groupRows = 32_768;
/** Rows are buffered in a file, so that memory stays within this limit for a mirror of any size. */
const memoryMax = '256MB';

/**
 * Writes the rows in order to one Parquet file with mode 0600, and renames it when it is complete; a failure leaves no
 * file. Rows are first buffered in a database file in a private folder next to it. Returns the number of bytes written.
 * Throws `stopped` when `signal` aborts, and `usage` when the writer is not installed, the folder cannot be written to,
 * or a number has more digits than its type.
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
    memory_limit: memoryMax,
    threads: '1',
    temp_directory: workshop,
    // All needed extensions are built in; never download one.
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
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
    throw faultOf(error);
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
  // One chunk for all batches: its memory is native, so the garbage collector does not see it.
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
  return new Fault('usage', 'writing Parquet needs the package @duckdb/node-api, which is not installed', {
    hint: 'npm install @duckdb/node-api, or use --format csv or jsonl',
    cause,
  });
}

function faultOf(error: unknown): unknown {
  if (!(error instanceof Error) || !/no space left/i.test(error.message)) return error;
  return new Fault('database_full', 'the disk is full: no file was written', {
    hint: 'free disk space, or use --out FILE on another disk; the export temporarily needs about twice the size of the mirror',
    cause: error,
  });
}
