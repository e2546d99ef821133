import { existsSync, mkdirSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExportsConfig } from '../config/config.js';
import { defined } from '../domain/defined.js';
import { Fault, isFault } from '../domain/fault.js';
import { csv } from '../exports/csv.js';
import { jsonLines } from '../exports/json-lines.js';
import { writeParquet } from '../exports/parquet.js';
import type { RowSource } from '../exports/ports.js';
import { writeExport } from '../exports/write-file.js';
import { xlsx } from '../exports/xlsx.js';
import type { Clock } from '../runtime/clock.js';
import { makeFolders } from '../runtime/file-owner.js';
import type { Random } from '../runtime/random.js';
import { syncFolder } from '../runtime/sync-file.js';
import { stampOf } from '../store/backup/file-names.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { tableRows } from '../store/reads/export-rows.js';
import { forgetMark } from '../store/reads/forget-mark.js';
import { readOneState } from '../store/reads/read-mirror.js';
import {
  type ExportedFile,
  exportedFile,
  exportFacts,
  folderManifestName,
  manifestOf,
  writeManifest,
} from './export-manifest.js';
import { mirrorName, unfinishedIn } from './exports-folder.js';
import { forgetMarkOf } from './forget-mark.js';
import { type Discard, removeUnfinishedExports } from './remove-exports.js';

export type PublishAsk = Pick<ExportsConfig, 'folder' | 'format' | 'tables' | 'identity'>;

export interface PublishParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Deletes an unfinished export (default: as `discardExport`). */
  readonly discard?: Discard;
}

export interface MadeExport {
  readonly folder: string;
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Writes one file for each table, all of them read at one moment, and a manifest into a new folder, which gets its name,
 * the time, when they are on disk. Folders have mode 0700 and files 0600. A failure leaves nothing; what a killed process
 * left is removed first, if this user may remove it. Throws `database_busy` when a person is forgotten while files with names are written: a retry
 * writes them without that person.
 */
export async function publishExports(
  location: DatabaseLocation,
  { folder, format, tables, identity }: PublishAsk,
  { clock, random, signal, discard }: PublishParts,
): Promise<MadeExport> {
  const begun = clock.now();
  const mirror = mirrorName(location);
  const unfinished = unfinishedIn(folder, mirror, random);
  try {
    makeFolders(folder);
    // The daemon reports what is left: it must not keep this export from being made.
    await removeUnfinishedExports(folder, mirror, discard).catch((error: unknown) => {
      if (!isFault(error, 'usage')) throw error;
    });
    mkdirSync(unfinished, { mode: 0o700 });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new Fault('usage', `cannot write to ${folder} (${code})`, {
      hint: 'Name a folder that this user can write to in exports.folder.',
      cause,
    });
  }
  let isPublished = false;
  try {
    const { files, mark } = await readOneState(location, async (db) => {
      const mark = await forgetMark(db);
      const facts = await exportFacts(db);
      const files: ExportedFile[] = [];
      for (const table of tables) {
        let rows = 0;
        const source = counted(tableRows(db, table, { identity }), () => {
          rows += 1;
        });
        const file = join(unfinished, `${table}.${format}`);
        await write(file, source, format, table, random, signal);
        files.push(await exportedFile(file, { table, format, rows }, source.columns));
      }
      const about = { identity, as_of: null, source: null, company: null };
      const scheduled = { mirror, forget_mark: mark };
      await writeManifest(join(unfinished, folderManifestName), {
        ...manifestOf(facts, about, files, clock),
        scheduled,
      });
      return { files, mark };
    });
    if (identity && (await forgetMarkOf(location)) !== mark) throw forgottenMeanwhile();
    // A forget request removes the unfinished folder. Writing the manifest would create it again.
    if (files.some(({ name }) => !existsSync(join(unfinished, name)))) throw forgottenMeanwhile();
    const target = unusedName(folder, begun);
    await rename(unfinished, target);
    isPublished = true;
    await syncFolder(folder);
    return {
      folder: target,
      rows: files.reduce((sum, { rows }) => sum + rows, 0),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  } catch (error) {
    throw isPublished || existsSync(unfinished) ? error : forgottenMeanwhile(error);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

function forgottenMeanwhile(cause?: unknown): Fault {
  return new Fault('database_busy', 'a person was forgotten while the export was written', {
    hint: 'The next attempt writes it without them.',
    ...defined({ cause }),
  });
}

/** Returns a folder named by the time. Another mirror may have taken the name in the same second. */
function unusedName(folder: string, now: number): string {
  let millis = now;
  while (existsSync(join(folder, stampOf(millis)))) millis += 1000;
  return join(folder, stampOf(millis));
}

async function write(
  file: string,
  source: RowSource,
  format: PublishAsk['format'],
  sheet: string,
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  if (format === 'parquet') await writeParquet(file, source, signal);
  else await writeExport(file, piecesOf(source, format, sheet), random, signal);
}

function piecesOf(source: RowSource, format: Exclude<PublishAsk['format'], 'parquet'>, sheet: string) {
  switch (format) {
    case 'csv':
      return csv(source, { raw: false });
    case 'jsonl':
      return jsonLines(source);
    case 'xlsx':
      return xlsx(source, { sheet });
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
