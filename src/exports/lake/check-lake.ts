import { join } from 'node:path';
import { measured } from './disk.js';
import { isDenied, unreadableFault } from './disk-fault.js';
import { type LakeFile, type LakeManifest, type LakeState, readLake, readSnapshots } from './layout.js';

export interface LakeChecked {
  readonly snapshot: number;
  readonly taken_at: string;
  /** Number of snapshots that can be read. */
  readonly snapshots: number;
  readonly files: number;
  readonly bytes: number;
  readonly problems: readonly { readonly path: string; readonly problem: FileProblem }[];
}

/** The code is that of the system, such as EIO of a broken disk. */
export type FileProblem = 'missing' | 'wrong size' | 'wrong checksum' | `cannot be read (${string})`;

/** The mirror has everything that a lake has, except older snapshots. A copy of it may name people. */
export const damagedLakeHint = (folder: string): string =>
  `delete ${folder} and write it again with rosterd lake sync; loaders then begin anew`;

/**
 * Reads every file that a snapshot names and compares it with size and checksum. Returns null without a lake. Throws `usage`
 * for a file that this user may not read.
 */
export async function checkLake(folder: string, onFile: () => void): Promise<LakeChecked | null> {
  const state = readLake(folder);
  if (state === null) return null;
  const snapshots = readSnapshots(folder, state);
  const files = new Map([...filesOf(state, snapshots)].map((file) => [file.path, file]));
  const problems: { path: string; problem: FileProblem }[] = [];
  for (const file of files.values()) {
    const problem = await problemOf(join(folder, file.path), file);
    if (problem !== null) problems.push({ path: file.path, problem });
    onFile();
  }
  return {
    snapshot: state.manifest.snapshot,
    taken_at: state.manifest.taken_at,
    snapshots: snapshots.length,
    files: files.size,
    bytes: [...files.values()].reduce((sum, { bytes }) => sum + bytes, 0),
    problems,
  };
}

/** Throws `usage` for a file that this user may not read. */
export async function problemOf(
  file: string,
  expected: Pick<LakeFile, 'bytes' | 'sha256'>,
): Promise<FileProblem | null> {
  try {
    const { bytes, sha256 } = await measured(file);
    if (bytes !== expected.bytes) return 'wrong size';
    return sha256 === expected.sha256 ? null : 'wrong checksum';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code === 'ENOENT') return 'missing';
    if (isDenied(error)) throw unreadableFault(file, error);
    return `cannot be read (${code})`;
  }
}

function* filesOf({ pointer }: LakeState, snapshots: readonly LakeManifest[]): Generator<LakeFile> {
  yield* pointer.identities?.files ?? [];
  for (const { tables } of snapshots) for (const { files } of Object.values(tables)) yield* files;
}
