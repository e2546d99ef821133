import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../domain/fault.js';
import type { ExportColumn, LakePosition } from '../ports.js';
import { unreadableFault } from './disk-fault.js';

/** The first member of each JSON file of a lake. */
export const lakeFormat = 'rosterd-lake';
export const lakeVersion = 1;
export const pointerName = '_current.json';
export const viewsName = '_views.sql';
export const lockName = '_lock';
export const snapshotFolder = '_snapshots';

/** The folders with data, by table. */
export const tableNames = ['investments', 'investment_changes', 'companies', 'rounds', 'identities'] as const;

export interface LakeFile {
  /** Below the folder of the lake, with `/`. */
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

export interface LakeColumn {
  readonly name: string;
  /** The type in DuckDB's words. */
  readonly type: string;
}

/** One complete state. Its files never change; those of people are named by the pointer alone. */
export interface LakeManifest {
  readonly format: typeof lakeFormat;
  readonly version: number;
  readonly snapshot: number;
  readonly taken_at: string;
  readonly rosterd: string;
  /** How far the mirror was read: its last change, and each source's completeness and sums. */
  readonly position: LakePosition;
  readonly tables: {
    /** The rows as of `base_snapshot`. Later snapshots add what `investment_changes` has after it. */
    readonly investments: {
      readonly columns: readonly LakeColumn[];
      readonly base_snapshot: number;
      readonly files: readonly (LakeFile & { readonly source: string })[];
    };
    /** Who loaded snapshot `complete_after` or a later one finds every change since in these files. */
    readonly investment_changes: {
      readonly columns: readonly LakeColumn[];
      readonly complete_after: number;
      readonly files: readonly (LakeFile & {
        readonly first_snapshot: number;
        readonly last_snapshot: number;
      })[];
    };
    readonly companies: PlainTable;
    readonly rounds: PlainTable;
  };
}

interface PlainTable {
  readonly columns: readonly LakeColumn[];
  readonly files: readonly LakeFile[];
}

export interface LakeIdentities {
  readonly columns: readonly LakeColumn[];
  readonly files: readonly (LakeFile & { readonly source: string; readonly bucket: string })[];
}

/** Names the newest complete snapshot. Replaced by one rename. */
export interface LakePointer {
  readonly format: typeof lakeFormat;
  readonly version: number;
  /**
   * A random text of this lake. One that is written anew into an emptied folder has another, so that a loader does not
   * take its snapshots for those that it loaded. Missing in lakes of earlier versions.
   */
  readonly lake?: string;
  readonly snapshot: number;
  readonly manifest: string;
  readonly manifest_sha256: string;
  /** When the mirror was last compared with this snapshot. */
  readonly synced_at: string;
  /** How far the mirror had been read then: further than the snapshot says, if nothing in it differed. */
  readonly position: LakePosition;
  /** People have no past: only the current state names their files. Null without identity. */
  readonly identities: LakeIdentities | null;
}

export interface LakeState {
  readonly pointer: LakePointer;
  readonly manifest: LakeManifest;
}

export const columnsOf = (
  columns: readonly ExportColumn[],
  types: Readonly<Record<ExportColumn['kind'], string>>,
): readonly LakeColumn[] => columns.map(({ name, kind }) => ({ name, type: types[kind] }));

export const isSameColumns = (one: readonly LakeColumn[], other: readonly LakeColumn[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

export const rowsIn = (files: readonly LakeFile[]): number => files.reduce((sum, { rows }) => sum + rows, 0);

export const manifestPath = (snapshot: number): string => `${snapshotFolder}/${numberText(snapshot)}.json`;
export const numberText = (snapshot: number): string => String(snapshot).padStart(12, '0');

export const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Returns the current state; null for a folder without one. Throws `usage` for a damaged or newer one, and for one that
 * cannot be read.
 */
export function readLake(folder: string): LakeState | null {
  const file = join(folder, pointerName);
  const content = textOf(file);
  if (content === null) return null;
  const pointer = parsed<LakePointer>(file, content);
  const manifestFile = join(folder, pointer.manifest);
  const text = textOf(manifestFile) ?? '';
  if (sha256Of(text) !== pointer.manifest_sha256)
    throw damaged(manifestFile, 'is missing or not what _current.json describes');
  return { pointer, manifest: parsed<LakeManifest>(manifestFile, text) };
}

/** Returns every stored snapshot up to the current one, newest first. */
export function readSnapshots(folder: string, { manifest }: LakeState): readonly LakeManifest[] {
  const older = snapshotNumbers(folder).filter((number) => number < manifest.snapshot);
  return [
    manifest,
    ...older.map((number) => {
      const file = join(folder, manifestPath(number));
      return parsed<LakeManifest>(file, textOf(file) ?? '');
    }),
  ];
}

/** Returns null for a file that is not there. Throws `usage` for one that cannot be read. */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw unreadableFault(file, error);
  }
}

/** Newest first. */
export function snapshotNumbers(folder: string): readonly number[] {
  const path = join(folder, snapshotFolder);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .flatMap((name) => (/^\d{12}\.json$/.test(name) ? [Number(name.slice(0, 12))] : []))
    .sort((a, b) => b - a);
}

function parsed<Content extends { readonly format: string; readonly version: number }>(
  file: string,
  text: string,
): Content {
  let content: Content;
  try {
    content = JSON.parse(text) as Content;
  } catch {
    throw damaged(file, 'is not JSON');
  }
  if (content.format !== lakeFormat) throw damaged(file, 'does not describe a lake');
  if (content.version === lakeVersion) return content;
  throw new Fault('usage', `${file} has version ${content.version}; this rosterd knows ${lakeVersion}`, {
    hint: 'Use the version of rosterd that wrote it, or a later one.',
  });
}

function damaged(file: string, why: string): Fault {
  return new Fault('usage', `${file} ${why}`, {
    hint: 'delete the folder of the lake, then write it again: rosterd lake sync DIR',
  });
}
