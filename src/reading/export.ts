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
import type { Random } from '../runtime/random.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { exportRows } from '../store/reads/export-rows.js';
import { readMirror } from '../store/reads/read-mirror.js';
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
  readonly source?: string;
  readonly company?: string;
  readonly asOf?: Instant;
  readonly identity: boolean;
  /** Leaves text that begins like a formula unchanged. */
  readonly raw: boolean;
  readonly onRow: () => void;
}

export interface PreparedExport {
  /** The content of the file; null for Parquet, which can only be saved. */
  readonly pieces: AsyncIterable<Piece> | null;
  /** Writes the file whole or not at all. Returns its size in bytes. */
  save(file: string, random: Random, signal: AbortSignal): Promise<number>;
  /** Writes the manifest beside a saved file, as `FILE.manifest.json`. Returns its path. */
  describe(file: string, rows: number, clock: Clock): Promise<string>;
  /** The number of rows; null when it is not known. */
  readonly rowsTotal: number | null;
  readonly sources: readonly string[];
  /** Sources without names, because the token may not read them or the configuration drops them. */
  readonly nameless: readonly string[];
  /** Sources whose first listing is not complete: none of their rows are visible yet. */
  readonly unreadable: readonly string[];
  /** Sources whose history begins after `asOf`. */
  readonly younger: readonly { readonly source: string; readonly from: string }[];
}

/** Passes the export to `write`, read from one snapshot. Throws `usage` for an unknown source. */
export function exportMirror<Result>(
  location: DatabaseLocation,
  ask: ExportAsk,
  write: (prepared: PreparedExport) => Promise<Result>,
): Promise<Result> {
  return readMirror(location, async (db) => {
    await requireSource(db, ask.source);
    const facts = await exportFacts(db, ask.source);
    const standings = await standingsOf(db, ask.source);
    const source = counted(exportRows(db, wantedBy(ask)), ask.onRow);
    const whole = ask.company === undefined && ask.asOf === undefined;
    return await write({
      ...encoded(source, ask),
      describe: async (file, rows, clock) => {
        const path = manifestFileOf(file);
        const about = { table: ask.identity ? 'roster' : 'investments', format: ask.format, rows };
        const columns = ask.format === 'founder-csv' ? founderColumns : source.columns;
        const files = [await exportedFile(file, about, columns)];
        await writeManifest(path, manifestOf(facts, limitsOf(ask), files, clock));
        return path;
      },
      rowsTotal: whole ? standings.reduce((sum, { rows }) => sum + rows, 0) : null,
      sources: standings.map(({ source }) => source),
      nameless: standings.filter((one) => one.identity_included === 0).map(({ source }) => source),
      unreadable: standings.filter(({ readable }) => readable === 0).map(({ source }) => source),
      younger: standings.flatMap(({ source, history_from: from }) =>
        ask.asOf !== undefined && from !== null && from > ask.asOf ? [{ source, from }] : [],
      ),
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

function encoded(rows: RowSource, ask: ExportAsk): Pick<PreparedExport, 'pieces' | 'save'> {
  if (ask.format === 'parquet')
    return { pieces: null, save: (file, _random, signal) => writeParquet(file, rows, signal) };
  const pieces = piecesOf(rows, ask.format, ask.raw);
  return { pieces, save: (file, random, signal) => writeExport(file, pieces, random, signal) };
}

function piecesOf(
  rows: RowSource,
  format: Exclude<ExportFormat, 'parquet'>,
  raw: boolean,
): AsyncIterable<Piece> {
  switch (format) {
    case 'csv':
      return csv(rows, { raw });
    case 'jsonl':
      return jsonLines(rows);
    case 'xlsx':
      return xlsx(rows, { sheet: 'investments' });
    case 'founder-csv':
      return founderCsv(rows, { raw });
  }
}

function counted({ columns, rows }: RowSource, onRow: () => void): RowSource {
  return {
    columns,
    async *rows() {
      for await (const row of rows()) {
        onRow();
        yield row;
      }
    },
  };
}

function standingsOf(db: MirrorReader, source: string | undefined) {
  const columns = ['source', 'rows', 'readable', 'identity_included', 'history_from'] as const;
  const all = db.selectFrom('sync_status').select(columns);
  return (source === undefined ? all : all.where('source', '=', source)).execute();
}
