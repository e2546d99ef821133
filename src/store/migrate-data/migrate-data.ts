import { createHash } from 'node:crypto';
import { Fault } from '../../domain/fault.js';
import type { PostgresDatabase } from '../dialect/postgres/open.js';
import { type MigratedTable, migratedTables } from './migrated-tables.js';
import { fillTarget, type MigrationTarget, type TableDigest } from './postgres-target.js';
import type { MigrationSource } from './sqlite-source.js';

export interface MigratedRows extends TableDigest {
  readonly table: string;
}

export interface MigrationWatch {
  readonly signal: AbortSignal;
  /** Called during the copy with the number of rows written so far. */
  onRows?(rows: number): void;
}

/**
 * Copies every row and reads all of them back before the commit. Returns the row count and digest of each table. Throws
 * `database_unusable` unless both sides give the same bytes for every table, and `stopped` when `signal` fires. In both
 * cases the target stays empty.
 */
export function migrateData(
  source: MigrationSource,
  target: { readonly database: PostgresDatabase; readonly url: string },
  watch: MigrationWatch,
): Promise<readonly MigratedRows[]> {
  return fillTarget(target.database, target.url, async (filling) => {
    const sent: MigratedRows[] = [];
    let done = 0;
    for (const table of migratedTables) {
      const carried = await migrateTable(source, filling, table, { ...watch, done });
      sent.push({ table: table.name, ...carried });
      done += carried.rows;
    }
    await filling.finish(source.lastSeq, source.indexes);
    for (const [index, table] of migratedTables.entries()) {
      throwIfAborted(watch.signal);
      compare(
        table.name,
        source.counts.get(table.name),
        sent[index],
        await filling.digest(table, source.columns(table)),
      );
    }
    return sent;
  });
}

async function migrateTable(
  source: MigrationSource,
  target: MigrationTarget,
  table: MigratedTable,
  { signal, onRows, done }: MigrationWatch & { readonly done: number },
): Promise<TableDigest> {
  const hash = createHash('sha256');
  let rows = 0;
  function* watched(): Generator<string> {
    for (const text of source.lines(table)) {
      throwIfAborted(signal);
      hash.update(text);
      yield text;
      // Line breaks within a value are escaped, so every remaining one ends a row.
      rows += text.split('\n').length - 1;
      onRows?.(done + rows);
    }
  }
  await target.write(table, source.columns(table), watched());
  return { rows, sha256: hash.digest('hex') };
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted)
    throw new Fault('stopped', 'stopped before the end: nothing was committed, the target is empty', {
      hint: 'Run it again when there is time; it starts from the beginning.',
    });
}

function compare(
  name: string,
  counted: number | undefined,
  sent: TableDigest | undefined,
  found: TableDigest,
): void {
  if (sent?.rows === counted && found.rows === counted && found.sha256 === sent?.sha256) return;
  throw new Fault(
    'database_unusable',
    `${name} differs after the copy: ${counted} rows in the source, ${sent?.rows} sent, ${found.rows} read back, ` +
      (found.sha256 === sent?.sha256 ? 'with equal content' : 'with different content'),
    { hint: 'Nothing was committed and the source is unchanged. Check both with rosterd doctor.' },
  );
}
