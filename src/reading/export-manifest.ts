import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { defined } from '../domain/defined.js';
import { Fault, isFault } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import { type FileProblem, problemOf } from '../exports/lake/check-lake.js';
import { measured } from '../exports/lake/disk.js';
import type { RowSource } from '../exports/ports.js';
import { titleOf } from '../exports/xlsx.js';
import type { Clock } from '../runtime/clock.js';
import { readNamedFile } from '../runtime/named-file.js';
import { packageVersion } from '../runtime/package-version.js';
import { writePrivateFile } from '../runtime/private-file.js';
import { newestChange } from '../store/reads/changes.js';
import type { MirrorReader } from './read-mirror.js';

export const exportManifestFormat = 'rosterd-export';
const exportManifestVersion = 1;

/** Describes exported files, for programs that load or check them. Contains no identity. */
export interface ExportManifest {
  readonly format: typeof exportManifestFormat;
  readonly version: number;
  readonly made_at: string;
  /** Version of rosterd. */
  readonly rosterd: string;
  /** Whether the files may contain names, emails, addresses and messages. */
  readonly identity: boolean;
  /** The past moment that was exported; null for the present state. */
  readonly as_of: string | null;
  /** What the export was limited to; null for all. */
  readonly source: string | null;
  readonly company: string | null;
  /** Only in scheduled exports. */
  readonly scheduled?: {
    /** The mirror's name, as in the names of its scheduled backups. */
    readonly mirror: string;
    /** Which forget requests were known; differs after another one. */
    readonly forget_mark: string;
  };
  /** Every change up to this number of `changes.seq` is in the files; of `as_of`, if that is set. */
  readonly change_seq: number;
  readonly sources: readonly {
    readonly source: string;
    /** Until when its rows are complete; null before the first listing and when it is not known. */
    readonly complete_up_to: string | null;
    /** When the cursor of the feed was last stored. */
    readonly cursor_saved_at: string | null;
    /** Whether some of its people have no name yet, until a listing completes them. Absent in versions before 0.3. */
    readonly names_incomplete?: boolean;
  }[];
  readonly files: readonly ExportedFile[];
}

export interface ExportedFile {
  /** Beside the manifest. */
  readonly name: string;
  readonly table: string;
  readonly format: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
  /** As they are called in the file, in its order. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

export type ExportFacts = Pick<ExportManifest, 'change_seq' | 'sources'>;

/** Reads how far the mirror is, before its rows are read. */
export async function exportFacts(db: MirrorReader, source?: string): Promise<ExportFacts> {
  const change_seq = await newestChange(db);
  const all = db
    .selectFrom('sync_status')
    .select(['source', 'complete_up_to', 'cursor_saved_at', 'names_incomplete'])
    .orderBy('source');
  const found = await (source === undefined ? all : all.where('source', '=', source)).execute();
  const sources = found.map((one) => ({ ...one, names_incomplete: one.names_incomplete === 1 }));
  return { change_seq, sources };
}

export function manifestOf(
  facts: ExportFacts,
  about: Pick<ExportManifest, 'identity' | 'as_of' | 'source' | 'company'>,
  files: readonly ExportedFile[],
  clock: Clock,
): ExportManifest {
  return {
    format: exportManifestFormat,
    version: exportManifestVersion,
    made_at: instantFromMillis(clock.now()),
    rosterd: packageVersion(),
    ...about,
    ...facts,
    files,
  };
}

/** Measures a file that was written. */
export async function exportedFile(
  file: string,
  about: Pick<ExportedFile, 'table' | 'format' | 'rows'>,
  columns: RowSource['columns'],
): Promise<ExportedFile> {
  const named = columns.map((column) => {
    const name = about.format === 'xlsx' ? titleOf(column) : column.name;
    return { name, type: name === column.name ? column.kind : 'money' };
  });
  return { name: basename(file), ...about, ...(await measured(file)), columns: named };
}

/** The manifest of a scheduled export, in its folder. */
export const folderManifestName = 'manifest.json';

export const manifestFileOf = (file: string): string => `${file}.manifest.json`;

export async function writeManifest(file: string, manifest: ExportManifest): Promise<void> {
  await writePrivateFile(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

export interface ManifestChecked {
  readonly manifest: string;
  readonly made_at: string;
  readonly files: number;
  readonly rows: number;
  readonly problems: readonly { readonly file: string; readonly problem: FileProblem }[];
}

/**
 * Compares the files beside a manifest with it. `file` is the manifest, an exported file that has one, or the folder of a
 * scheduled export. Throws `usage` for anything else.
 */
export async function checkExport(file: string): Promise<ManifestChecked> {
  const path = manifestOfFile(file);
  const manifest = readManifest(path);
  const problems: { file: string; problem: FileProblem }[] = [];
  for (const one of manifest.files) {
    const problem = await problemOf(join(dirname(path), basename(one.name)), one);
    if (problem !== null) problems.push({ file: one.name, problem });
  }
  return {
    manifest: path,
    made_at: manifest.made_at,
    files: manifest.files.length,
    rows: manifest.files.reduce((sum, { rows }) => sum + rows, 0),
    problems,
  };
}

/** Returns the manifest of an exported file or of a folder, or the file itself. */
function manifestOfFile(file: string): string {
  if (existsSync(manifestFileOf(file))) return manifestFileOf(file);
  if (isFolder(file)) return join(file, folderManifestName);
  const shared = join(dirname(file), folderManifestName);
  return lists(shared, basename(file)) ? shared : file;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Reading it reports why.
    return false;
  }
}

/** Whether this is the manifest of an export with a file of this name. Another program's file may have the same name. */
function lists(manifest: string, name: string): boolean {
  let content: Partial<ExportManifest> | null;
  try {
    content = JSON.parse(readNamedFile(manifest)) as Partial<ExportManifest> | null;
  } catch {
    return false;
  }
  if (content?.format !== exportManifestFormat) return false;
  return readManifest(manifest).files.some((file) => file.name === name);
}

/** Throws `usage` for a file that is not a manifest of this version. */
export function readManifest(path: string): ExportManifest {
  let text: string;
  try {
    text = readNamedFile(path);
  } catch (cause) {
    if (isFault(cause)) throw cause;
    throw notManifest(path, `cannot be read (${(cause as NodeJS.ErrnoException).code})`, cause);
  }
  let content: Partial<ExportManifest>;
  try {
    content = JSON.parse(text) as Partial<ExportManifest>;
  } catch (cause) {
    throw notManifest(path, 'is no manifest and has none beside it', cause);
  }
  if (content?.format !== exportManifestFormat || !Array.isArray(content.files))
    throw notManifest(path, 'is not the manifest of an export');
  if (content.version !== exportManifestVersion)
    throw notManifest(path, `has version ${content.version}; this rosterd knows ${exportManifestVersion}`);
  return content as ExportManifest;
}

function notManifest(path: string, why: string, cause?: unknown): Fault {
  return new Fault('usage', `${path} ${why}`, {
    hint: `rosterd export --out FILE --manifest writes FILE.manifest.json; each folder of a scheduled export has ${folderManifestName}`,
    ...defined({ cause }),
  });
}
