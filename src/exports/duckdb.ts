import { join } from 'node:path';
import type * as DuckDb from '@duckdb/node-api';
import { Fault } from '../domain/fault.js';
import { columnTypes, converterOf, type DuckDbPackage } from './parquet-types.js';
import type { Cell, ExportColumn, RowSource } from './ports.js';

/** Rows per chunk: the vector size of DuckDB. */
const chunkRows = 2_048;
/** Rows per row group, within which readers can skip columns; larger groups need more memory to write. */
const groupRows = 32_768;
/** Rows are buffered in a file, so that memory stays within this limit for a mirror of any size. */
const memoryMax = '256MB';

export type LoadDuckDb = () => Promise<DuckDbPackage>;

/** DuckDB with a database file of its own in a private folder. */
export interface Workshop {
  run(sql: string): Promise<void>;
  /** Returns all rows of a small result. */
  rows(sql: string): Promise<readonly (readonly DuckDb.DuckDBValue[])[]>;
  /**
   * Creates a table with these rows, in their order. Returns their number. A decimal with too many digits throws `usage`, or
   * calls `onInexact` and becomes the nearest one.
   */
  load(table: string, source: RowSource, onInexact?: () => void): Promise<number>;
  /** Writes the result of a query to one Parquet file. */
  copy(query: string, file: string): Promise<void>;
}

/**
 * Throws `usage` for a path with a question mark. DuckDB puts the name of its log in front of one, so it would look for the
 * log in another folder.
 */
export function refuseQuestionMark(path: string, hint: string): void {
  if (path.includes('?'))
    throw new Fault('usage', `${path} contains a question mark, which DuckDB cannot have in a path`, {
      hint,
    });
}

/**
 * Runs `work` with DuckDB, which buffers rows in `folder`. Throws `usage` when the package is not installed, `stopped`
 * when `signal` aborts, and `database_full` when the disk is full.
 */
export async function withWorkshop<Result>(
  folder: string,
  signal: AbortSignal,
  load: LoadDuckDb,
  work: (workshop: Workshop) => Promise<Result>,
): Promise<Result> {
  const duckdb = await load().catch((error: unknown) => {
    throw notInstalled(error);
  });
  const options = {
    memory_limit: memoryMax,
    threads: '1',
    temp_directory: folder,
    // All needed extensions are built in; never download one.
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  };
  const instance = await duckdb.DuckDBInstance.create(join(folder, 'rows.duckdb'), options).catch(
    (error: unknown) => {
      throw faultOf(error);
    },
  );
  const connection = await instance.connect();
  const interrupt = () => connection.interrupt();
  signal.addEventListener('abort', interrupt);
  const run = async (sql: string) => {
    refuseStopped(signal);
    await connection.run(sql);
  };
  try {
    await run("SET TimeZone = 'UTC'");
    // The caller deletes the file: what is only buffered need not be written into it at the end.
    await run('PRAGMA disable_checkpoint_on_shutdown');
    return await work({
      run,
      rows: async (sql) => (await connection.runAndReadAll(sql)).getRows(),
      load: async (table, source, onInexact) => {
        await run(`CREATE TABLE ${quotedName(table)} (${columnList(source.columns)})`);
        return await append(duckdb, connection, table, source, signal, onInexact);
      },
      copy: async (query, file) => {
        const form = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${groupRows}`;
        await run(`COPY (${query}) TO ${quotedText(file)} (${form})`);
        refuseStopped(signal);
      },
    });
  } catch (error) {
    refuseStopped(signal);
    throw faultOf(error);
  } finally {
    signal.removeEventListener('abort', interrupt);
    connection.closeSync();
    instance.closeSync();
  }
}

export const columnList = (columns: readonly ExportColumn[]): string =>
  columns.map(({ name, kind }) => `${quotedName(name)} ${columnTypes[kind]}`).join(', ');

const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
export const quotedText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

async function append(
  duckdb: DuckDbPackage,
  connection: DuckDb.DuckDBConnection,
  table: string,
  { columns, rows }: RowSource,
  signal: AbortSignal,
  onInexact?: () => void,
): Promise<number> {
  const appender = await connection.createAppender(table);
  const types = columns.map((_, index) => appender.columnType(index));
  const converters = columns.map((column) => converterOf(column, duckdb, onInexact));
  // One chunk for all batches: its memory is native, so the garbage collector does not see it.
  const chunk = duckdb.DuckDBDataChunk.create(types, chunkRows);
  let appended = 0;
  const flush = (batch: readonly (readonly Cell[])[]) => {
    refuseStopped(signal);
    chunk.reset();
    chunk.rowCount = batch.length;
    chunk.setColumns(converters.map((convert, at) => batch.map((row) => convert(row[at] ?? null))));
    appender.appendDataChunk(chunk);
    appended += batch.length;
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
  return appended;
}

function refuseStopped(signal: AbortSignal): void {
  if (signal.aborted)
    throw new Fault('stopped', 'the export was stopped before its end; no file was written');
}

function notInstalled(cause: unknown): Fault {
  return new Fault('usage', 'writing Parquet needs the package @duckdb/node-api, which is not installed', {
    hint: 'npm install @duckdb/node-api, or use --format csv or jsonl',
    cause,
  });
}

function faultOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (/input\/output error/i.test(error.message))
    return new Fault('database_busy', 'the disk failed (EIO): no file was written', {
      hint: 'check the disk, and the log of the kernel',
      cause: error,
    });
  if (!/no space left|quota exceeded/i.test(error.message)) return error;
  return new Fault('database_full', 'the disk is full: no file was written', {
    hint: 'free disk space, or name a place on another disk; writing temporarily needs about twice the size of the mirror',
    cause: error,
  });
}
