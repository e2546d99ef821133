import type { ExportTable } from '../config/export-tables.js';
import { presentState } from '../domain/as-of.js';
import { defined } from '../domain/defined.js';
import type { Instant } from '../domain/instant.js';
import { csv } from '../exports/csv.js';
import { founderCsv, founderTitles } from '../exports/founder-csv.js';
import { gathered, type Piece } from '../exports/gather.js';
import { jsonLines } from '../exports/json-lines.js';
import { writeParquet } from '../exports/parquet.js';
import type { RowSource } from '../exports/ports.js';
import { writeExport } from '../exports/write-file.js';
import { xlsx } from '../exports/xlsx.js';
import type { Clock } from '../runtime/clock.js';
import { writtenFile } from '../runtime/file-behind.js';
import type { Random } from '../runtime/random.js';
import { requireReplaceable } from '../runtime/replaceable.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { refuseOwnFile } from '../store/own-file.js';
import { youngerSources } from '../store/reads/as-of.js';
import { exportRows, tableRows } from '../store/reads/export-rows.js';
import { sourcesCompletingNames } from '../store/reads/nameless-sources.js';
import { readOneState } from '../store/reads/read-mirror.js';
import {
  type ExportManifest,
  exportedFile,
  exportFacts,
  manifestFileOf,
  manifestOf,
  writeManifest,
} from './export-manifest.js';
import { type MirrorReader, requireSource } from './read-mirror.js';

export { founderCsvName } from '../exports/founder-csv.js';
export { checkExport, type ManifestChecked } from './export-manifest.js';
export { gathered };

const exportFormats = ['csv', 'jsonl', 'xlsx', 'parquet', 'founder-csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface ExportAsk {
  readonly format: ExportFormat;
  /** Tables to write whole, each to its own file; empty for the investments. Neither `company` nor `asOf` limits them. */
  readonly tables: readonly ExportTable[];
  readonly source?: string;
  readonly company?: string;
  readonly asOf?: Instant;
  readonly identity: boolean;
  /** Leaves text that begins like a formula unchanged. */
  readonly raw: boolean;
  readonly onRow: () => void;
}

/** One file of an export. */
export interface PreparedFile {
  readonly table: ExportTable;
  /** The content of the file; null for Parquet, which can only be saved. */
  readonly pieces: AsyncIterable<Piece> | null;
  /**
   * Throws `usage` for the mirror's own files, and for a device or a pipe, with or without its manifest. Returns the paths of
   * both.
   */
  mayReplace(file: string): readonly string[];
  /** Writes the file whole or not at all; of a link, the file behind it. Returns its size in bytes. */
  save(file: string, random: Random, signal: AbortSignal): Promise<number>;
  /** Writes the manifest beside a saved file, as `FILE.manifest.json`. Returns its path. */
  describe(file: string, clock: Clock): Promise<string>;
  /** Returns the number of rows read so far. */
  rows(): number;
}

export interface PreparedExport {
  /** At least one. Each is read when it is written. */
  readonly files: readonly [PreparedFile, ...PreparedFile[]];
  /** The number of rows; null when it is not known. */
  readonly rowsTotal: number | null;
  readonly sources: readonly string[];
  /** Sources without names, because the token may not read them or the configuration drops them. */
  readonly nameless: readonly string[];
  /** Sources some of whose people have no name yet, until a listing completes them. */
  readonly completingNames: readonly string[];
  /** Sources whose first listing is not complete: none of their rows are visible yet. */
  readonly unreadable: readonly string[];
  /** Sources that the mirror did not have yet at `asOf`. */
  readonly younger: readonly { readonly source: string; readonly from: string }[];
}

/**
 * Passes the export to `write`; all of its files are read at one moment. Throws `usage` for an unknown source, and for a
 * time before the history or of which versions were purged.
 */
export function exportMirror<Result>(
  location: DatabaseLocation,
  ask: ExportAsk,
  write: (prepared: PreparedExport) => Promise<Result>,
): Promise<Result> {
  return readOneState(location, async (db) => {
    await requireSource(db, ask.source);
    const facts = await exportFacts(db, ask.source);
    const standings = await standingsOf(db, ask.source);
    const younger = ask.asOf === undefined ? [] : await youngerSources(db, ask.asOf, ask.source);
    const fileOf = (table: ExportTable, source: RowSource): PreparedFile => {
      const { source: read, rows } = counted(source, ask.onRow);
      return {
        table,
        ...encoded(read, ask, table),
        rows,
        mayReplace: (file) => {
          const paths = [file, manifestFileOf(file)];
          for (const path of paths) {
            requireReplaceable(path);
            refuseOwnFile(location, writtenFile(path));
          }
          return paths;
        },
        describe: async (file, clock) => {
          const path = manifestFileOf(file);
          const about = { table, format: ask.format, rows: rows() };
          const columns = ask.format === 'founder-csv' ? founderColumns : source.columns;
          const files = [await exportedFile(file, about, columns)];
          await writeManifest(writtenFile(path), manifestOf(facts, limitsOf(ask), files, clock));
          return path;
        },
      };
    };
    const { identity, source: from } = ask;
    const [first, ...others] = ask.tables.map((table) =>
      fileOf(table, tableRows(db, table, { identity, from })),
    );
    const whole = ask.tables.length === 0 && ask.company === undefined && ask.asOf === undefined;
    return await write({
      files:
        first === undefined
          ? [fileOf(identity ? 'roster' : 'investments', exportRows(db, wantedBy(ask)))]
          : [first, ...others],
      rowsTotal: whole ? standings.reduce((sum, { rows }) => sum + rows, 0) : null,
      sources: standings.map(({ source }) => source),
      completingNames: await sourcesCompletingNames(db, ask.source),
      nameless: standings.filter((one) => one.identity_included === 0).map(({ source }) => source),
      unreadable: standings.filter(({ readable }) => readable === 0).map(({ source }) => source),
      younger,
    });
  });
}

function limitsOf(ask: ExportAsk): Pick<ExportManifest, 'identity' | 'as_of' | 'source' | 'company'> {
  const { identity, asOf = null, source = null, company = null } = ask;
  return { identity, as_of: asOf === presentState ? null : asOf, source, company };
}

const founderColumns = founderTitles.map((name) => ({ name, kind: 'text' as const }));

function wantedBy({ source, company, asOf, identity, format }: ExportAsk) {
  return {
    ...defined({ source, company, asOf }),
    identity,
    order: format === 'founder-csv' ? ('newest' as const) : ('id' as const),
  };
}

function encoded(rows: RowSource, ask: ExportAsk, table: ExportTable): Pick<PreparedFile, 'pieces' | 'save'> {
  if (ask.format === 'parquet')
    return { pieces: null, save: (file, _random, signal) => writeParquet(writtenFile(file), rows, signal) };
  // A workbook without `--table` keeps the sheet name it always had.
  const sheet = ask.tables.length === 0 ? 'investments' : table;
  const pieces = piecesOf(rows, ask.format, ask.raw, sheet);
  return { pieces, save: (file, random, signal) => writeExport(writtenFile(file), pieces, random, signal) };
}

function piecesOf(
  rows: RowSource,
  format: Exclude<ExportFormat, 'parquet'>,
  raw: boolean,
  sheet: string,
): AsyncIterable<Piece> {
  switch (format) {
    case 'csv':
      return csv(rows, { raw });
    case 'jsonl':
      return jsonLines(rows);
    case 'xlsx':
      return xlsx(rows, { sheet });
    case 'founder-csv':
      return founderCsv(rows, { raw });
  }
}

function counted({ columns, rows }: RowSource, onRow: () => void) {
  let read = 0;
  const source: RowSource = {
    columns,
    async *rows() {
      for await (const row of rows()) {
        read += 1;
        onRow();
        yield row;
      }
    },
  };
  return { source, rows: () => read };
}

function standingsOf(db: MirrorReader, source: string | undefined) {
  const columns = ['source', 'rows', 'readable', 'identity_included'] as const;
  const all = db.selectFrom('sync_status').select(columns);
  return (source === undefined ? all : all.where('source', '=', source)).execute();
}
