import { lstatSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Instant, parseInstant } from '../domain/instant.js';
import { type Random, randomText } from '../runtime/random.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import {
  type ExportManifest,
  exportManifestFormat,
  folderManifestName,
  readManifest,
} from './export-manifest.js';

/*
 * A folder of scheduled exports. Each export is a folder in it that is named by the time and has a manifest. One that is
 * being written, or deleted, has a name that begins with a dot.
 */

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

/** The mirror of an export, as in the names of scheduled backups: several mirrors may share a folder. */
export const mirrorName = (location: DatabaseLocation): string => dialectFor(location).backupNames.stem;

type Hidden = 'unfinished' | 'deleted';

const hiddenStart = (state: Hidden, mirror: string): string => `.${state}-${mirror}-`;
const hiddenEnd = /^[0-9A-Za-z]{8}$/;

const hiddenIn = (folder: string, state: Hidden, mirror: string, random: Random): string =>
  join(folder, `${hiddenStart(state, mirror)}${randomText(random, 8)}`);

function hidden(folder: string, state: Hidden, mirror: string): readonly string[] {
  if (!isFolder(folder)) return [];
  const start = hiddenStart(state, mirror);
  return readdirSync(folder)
    .filter((name) => name.startsWith(start) && hiddenEnd.test(name.slice(start.length)))
    .map((name) => join(folder, name));
}

/** Returns a new name for an export that is being written. */
export const unfinishedIn = (folder: string, mirror: string, random: Random): string =>
  hiddenIn(folder, 'unfinished', mirror, random);

/** Returns the unfinished exports of a mirror: those of killed processes, and one that is being written. */
export const unfinishedExports = (folder: string, mirror: string): readonly string[] =>
  hidden(folder, 'unfinished', mirror);

/** Returns those of them that nothing was written to since `before`, by the clock of the disk. */
export const abandonedExports = (folder: string, mirror: string, before: number): readonly string[] =>
  unfinishedExports(folder, mirror).filter((path) => lastWritten(path) < before);

/** Returns infinity for a folder that another process has published or deleted meanwhile. */
function lastWritten(folder: string): number {
  try {
    const files = readdirSync(folder).map((name) => join(folder, name));
    return Math.max(...[folder, ...files].map((path) => lstatSync(path).mtimeMs));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Returns a new name for an export that is being deleted. */
export const doomedIn = (folder: string, mirror: string, random: Random): string =>
  hiddenIn(folder, 'deleted', mirror, random);

/** Returns the exports of a mirror of which something was left when they were deleted. */
export const doomedExports = (folder: string, mirror: string): readonly string[] =>
  hidden(folder, 'deleted', mirror);

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const nameShape = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/** Returns the complete exports of a mirror in a folder. Returns none for a folder that does not exist yet. */
export function publishedExports(folder: string, mirror: string): ExportsInFolder {
  const exports: PublishedExport[] = [];
  const damaged: string[] = [];
  for (const name of isFolder(folder) ? readdirSync(folder) : []) {
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
