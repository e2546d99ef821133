import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExportsConfig } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import { type Instant, parseInstant } from '../domain/instant.js';
import { csv } from '../exports/csv.js';
import { jsonLines } from '../exports/json-lines.js';
import { writeParquet } from '../exports/parquet.js';
import type { RowSource } from '../exports/ports.js';
import { syncFolder, writeExport } from '../exports/write-file.js';
import { xlsx } from '../exports/xlsx.js';
import type { Clock } from '../runtime/clock.js';
import { type Random, randomText } from '../runtime/random.js';
import { madeBy, stampOf } from '../store/backup/file-names.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { tableRows } from '../store/reads/export-rows.js';
import { readMirror } from '../store/reads/read-mirror.js';
import {
  type ExportedFile,
  exportedFile,
  exportFacts,
  manifestOf,
  readManifest,
  writeManifest,
} from './export-manifest.js';

export type PublishAsk = Pick<ExportsConfig, 'folder' | 'format' | 'tables' | 'identity'>;

export interface PublishedExport {
  readonly folder: string;
  readonly made_at: Instant;
}

export interface MadeExport {
  readonly folder: string;
  readonly rows: number;
  readonly bytes: number;
}

const manifestName = 'manifest.json';

/**
 * Writes one file for each table and a manifest into a new folder, which gets its name, the time, when all of them are on
 * disk. Folders have mode 0700 and files 0600. A failure leaves nothing; what a killed process left is removed first.
 */
export async function publishExports(
  location: DatabaseLocation,
  { folder, format, tables, identity }: PublishAsk,
  { clock, random, signal }: { readonly clock: Clock; readonly random: Random; readonly signal: AbortSignal },
): Promise<MadeExport> {
  const target = join(folder, stampOf(clock.now()));
  const unfinished = join(folder, `${unfinishedStart}${randomText(random, 8)}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await removeUnfinished(folder);
    mkdirSync(unfinished, { mode: 0o700 });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new Fault('usage', `cannot write to ${folder} (${code})`, {
      hint: 'Name a folder that this user can write to in exports.folder.',
      cause,
    });
  }
  try {
    const files = await readMirror(location, async (db) => {
      const facts = await exportFacts(db);
      const written: ExportedFile[] = [];
      for (const table of tables) {
        let rows = 0;
        const source = counted(tableRows(db, table, identity), () => {
          rows += 1;
        });
        const file = join(unfinished, `${table}.${format}`);
        await write(file, source, format, table, random, signal);
        written.push(await exportedFile(file, { table, format, rows }, source.columns));
      }
      const about = { identity, as_of: null, source: null, company: null };
      await writeManifest(join(unfinished, manifestName), manifestOf(facts, about, written, clock));
      return written;
    });
    await rename(unfinished, target);
    await syncFolder(folder);
    return {
      folder: target,
      rows: files.reduce((sum, { rows }) => sum + rows, 0),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

const unfinishedStart = '.unfinished-';

async function removeUnfinished(folder: string): Promise<void> {
  for (const name of readdirSync(folder))
    if (name.startsWith(unfinishedStart)) await rm(join(folder, name), { recursive: true, force: true });
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

const nameShape = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/** Returns the complete exports of a folder, newest first. Returns none for a folder that does not exist yet. */
export function publishedExports(folder: string): readonly PublishedExport[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder)
    .flatMap((name) => {
      const [, year, month, day, hour, minute, second] = nameShape.exec(name) ?? [];
      const made_at = parseInstant(`${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`);
      const path = join(folder, name);
      const isOwn = made_at !== undefined && existsSync(join(path, manifestName));
      return isOwn && statSync(path).isDirectory() ? [{ folder: path, made_at }] : [];
    })
    .sort((a, b) => (a.made_at < b.made_at ? 1 : -1));
}

/** Deletes all but the newest `keep` exports. Those dated in the future are not counted and stay. */
export async function pruneExports(folder: string, keep: number, now: number): Promise<void> {
  for (const old of madeBy(publishedExports(folder), now).slice(keep)) await removeExport(old.folder);
}

/** Deletes the exports that may contain names. Returns their folders. */
export async function removeNamedExports(folder: string): Promise<readonly string[]> {
  const named = publishedExports(folder).filter((one) => mayHaveNames(join(one.folder, manifestName)));
  for (const one of named) await removeExport(one.folder);
  return named.map((one) => one.folder);
}

function mayHaveNames(manifest: string): boolean {
  try {
    return readManifest(manifest).identity;
  } catch {
    return true;
  }
}

/** The manifest goes last: a folder without one is never taken for an export, and one with it is removed again. */
async function removeExport(folder: string): Promise<void> {
  for (const name of readdirSync(folder))
    if (name !== manifestName) await rm(join(folder, name), { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
}
