import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ExportsConfig } from '../config/config.js';
import { defined } from '../domain/defined.js';
import { Fault, isFault } from '../domain/fault.js';
import { type Instant, parseInstant } from '../domain/instant.js';
import { csv } from '../exports/csv.js';
import { jsonLines } from '../exports/json-lines.js';
import { writeParquet } from '../exports/parquet.js';
import type { RowSource } from '../exports/ports.js';
import { syncFolder, writeExport } from '../exports/write-file.js';
import { xlsx } from '../exports/xlsx.js';
import type { Clock } from '../runtime/clock.js';
import { type Random, randomText, systemRandom } from '../runtime/random.js';
import { madeBy, stampOf } from '../store/backup/file-names.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { tableRows } from '../store/reads/export-rows.js';
import { forgetMark } from '../store/reads/forget-mark.js';
import { readOneState } from '../store/reads/read-mirror.js';
import {
  type ExportedFile,
  type ExportManifest,
  exportedFile,
  exportFacts,
  exportManifestFormat,
  folderManifestName,
  manifestOf,
  readManifest,
  writeManifest,
} from './export-manifest.js';
import { forgetMarkOf } from './forget-mark.js';

export type PublishAsk = Pick<ExportsConfig, 'folder' | 'format' | 'tables' | 'identity'>;

export interface PublishedExport {
  readonly folder: string;
  readonly made_at: Instant;
  /** Whether it may contain names. */
  readonly identity: boolean;
  /** The forget requests that it was made after; see `forgetMark`. */
  readonly forget_mark: string;
}

export interface ExportsInFolder {
  /** Newest first. */
  readonly exports: readonly PublishedExport[];
  /** Folders named like exports whose manifest cannot be read. They are never deleted: they may be anything. */
  readonly damaged: readonly string[];
}

export interface MadeExport {
  readonly folder: string;
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Writes one file for each table, all of them read at one moment, and a manifest into a new folder, which gets its name,
 * the time, when they are on disk. Folders have mode 0700 and files 0600. A failure leaves nothing; what a killed process
 * left is removed first. Throws `database_busy` when a person is forgotten while files with names are written: a retry
 * writes them without that person.
 */
export async function publishExports(
  location: DatabaseLocation,
  { folder, format, tables, identity }: PublishAsk,
  { clock, random, signal }: { readonly clock: Clock; readonly random: Random; readonly signal: AbortSignal },
): Promise<MadeExport> {
  const begun = clock.now();
  const mirror = mirrorName(location);
  const unfinished = unfinishedIn(folder, mirror, random);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await removeUnfinishedExports(folder, mirror);
    mkdirSync(unfinished, { mode: 0o700 });
  } catch (cause) {
    if (isFault(cause)) throw cause;
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

/** The mirror of an export, as in the names of scheduled backups: several mirrors may share a folder. */
export const mirrorName = (location: DatabaseLocation): string => dialectFor(location).backupNames.stem;

/** Returns a folder named by the time. Another mirror may have taken the name in the same second. */
function unusedName(folder: string, now: number): string {
  let millis = now;
  while (existsSync(join(folder, stampOf(millis)))) millis += 1000;
  return join(folder, stampOf(millis));
}

const unfinishedStart = (mirror: string): string => `.unfinished-${mirror}-`;
const unfinishedEnd = /^[0-9A-Za-z]{8}$/;

const unfinishedIn = (folder: string, mirror: string, random: Random): string =>
  join(folder, `${unfinishedStart(mirror)}${randomText(random, 8)}`);

/** Deletes the unfinished exports of a mirror: those of killed processes, and one that is being written. */
export async function removeUnfinishedExports(folder: string, mirror: string): Promise<void> {
  await discardExports(unfinishedExports(folder, mirror), mirror);
}

function unfinishedExports(folder: string, mirror: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const start = unfinishedStart(mirror);
  return readdirSync(folder)
    .filter((name) => name.startsWith(start) && unfinishedEnd.test(name.slice(start.length)))
    .map((name) => join(folder, name));
}

/**
 * Deletes a folder of an export. It is renamed first, so that it is never seen with only some of its files, and so that
 * a process that still writes it cannot publish it.
 */
export async function discardExport(path: string, mirror: string): Promise<void> {
  const doomed = unfinishedIn(dirname(path), mirror, systemRandom);
  try {
    await rename(path, doomed);
  } catch (error) {
    // Another process published or deleted it at the same moment.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  await rm(doomed, { recursive: true, force: true });
}

type Discard = typeof discardExport;

/** Deletes each of these folders, also after one that could not be deleted. Throws as `throwIfLeft`. */
export async function discardExports(paths: readonly string[], mirror: string): Promise<void> {
  throwIfLeft(await leftOf(paths, mirror, discardExport));
}

interface Left {
  readonly file: string;
  readonly error: NodeJS.ErrnoException;
}

/** Deletes what can be deleted. Returns the files for which the system refused it. */
async function leftOf(paths: readonly string[], mirror: string, discard: Discard): Promise<readonly Left[]> {
  const left: Left[] = [];
  for (const path of paths)
    try {
      await discard(path, mirror);
    } catch (thrown) {
      const error = thrown as NodeJS.ErrnoException;
      if (error.code === undefined) throw error;
      left.push({ file: error.path ?? path, error });
    }
  return left;
}

/** Throws `usage`, which names everything that could not be deleted. */
function throwIfLeft(left: readonly Left[]): void {
  const [first] = left;
  if (first === undefined) return;
  const files = left.map(({ file, error }) => `${file} (${error.code})`).join(', ');
  throw new Fault('usage', `exports cannot be deleted: ${files}`, {
    hint: 'Delete them as the user who owns them',
    cause: first.error,
  });
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

/** Returns the complete exports of a mirror in a folder. Returns none for a folder that does not exist yet. */
export function publishedExports(folder: string, mirror: string): ExportsInFolder {
  const exports: PublishedExport[] = [];
  const damaged: string[] = [];
  const names =
    statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(folder) : [];
  for (const name of names) {
    const [, year, month, day, hour, minute, second] = nameShape.exec(name) ?? [];
    const made_at = parseInstant(`${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`);
    const path = join(folder, name);
    const file = join(path, folderManifestName);
    if (made_at === undefined || !lstat(path)?.isDirectory() || !lstat(file)?.isFile()) continue;
    if (isOther(file)) continue;
    const { scheduled, identity } = manifestIn(file) ?? {};
    if (typeof scheduled?.mirror !== 'string') damaged.push(path);
    else if (scheduled.mirror === mirror)
      exports.push({
        folder: path,
        made_at,
        identity: identity !== false,
        forget_mark: scheduled.forget_mark,
      });
  }
  return { exports: exports.sort((a, b) => (a.made_at < b.made_at ? 1 : -1)), damaged: damaged.sort() };
}

/** Returns null for a path without anything. Does not follow links: what they lead to is not ours. */
function lstat(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

/** Whether a manifest is a valid one of another program, or of `rosterd export --manifest`. */
function isOther(file: string): boolean {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8')) as Partial<ExportManifest> | null;
    return content?.format !== exportManifestFormat || content.scheduled === undefined;
  } catch {
    return false;
  }
}

function manifestIn(file: string): ExportManifest | null {
  try {
    return readManifest(file);
  } catch {
    return null;
  }
}

/** Deletes all but the newest `keep` exports of a mirror. Those dated in the future are not counted and stay. */
export async function pruneExports(folder: string, mirror: string, keep: number, now: number): Promise<void> {
  const { exports } = publishedExports(folder, mirror);
  const old = madeBy(exports, now).slice(keep);
  await discardExports(
    old.map((one) => one.folder),
    mirror,
  );
}

export interface NamedExportsRemoved {
  readonly removed: readonly string[];
  /** Folders that may be exports with names, and were left alone. */
  readonly damaged: readonly string[];
}

/** Deletes the exports of a mirror that may contain names, unfinished ones included. Throws as `throwIfLeft`. */
export async function removeNamedExports(
  folder: string,
  mirror: string,
  discard: Discard = discardExport,
): Promise<NamedExportsRemoved> {
  // One that is published after this is found among the exports.
  const unfinished = await leftOf(unfinishedExports(folder, mirror), mirror, discard);
  const { exports, damaged } = publishedExports(folder, mirror);
  const removed = exports.filter(({ identity }) => identity).map((one) => one.folder);
  throwIfLeft([...unfinished, ...(await leftOf(removed, mirror, discard))]);
  return { removed, damaged };
}

/** Deletes the exports with names that were made before the newest forget request. Returns their folders. */
export async function removeOutdatedExports(
  location: DatabaseLocation,
  folder: string,
): Promise<readonly string[]> {
  const mirror = mirrorName(location);
  const named = publishedExports(folder, mirror).exports.filter(({ identity }) => identity);
  if (named.length === 0) return [];
  const mark = await forgetMarkOf(location);
  const outdated = named.filter(({ forget_mark }) => forget_mark !== mark).map((one) => one.folder);
  await discardExports(outdated, mirror);
  return outdated;
}
