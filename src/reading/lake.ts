import { statSync } from 'node:fs';
import { Fault } from '../domain/fault.js';
import { type Instant, millisOf } from '../domain/instant.js';
import { shellWord } from '../domain/shell-word.js';
import { checkLake as checked, type LakeChecked } from '../exports/lake/check-lake.js';
import { viewsOf } from '../exports/lake/current-rows.js';
import { systemLakeDisk } from '../exports/lake/disk.js';
import { readLake, readSnapshots } from '../exports/lake/layout.js';
import { type LakeAsk, type LakeSynced, syncLake as synced } from '../exports/lake/sync-lake.js';
import { peopleFiles, removeUnnamedPeople } from '../exports/lake/unnamed-people.js';
import type { Clock } from '../runtime/clock.js';
import { packageVersion } from '../runtime/package-version.js';
import { systemRandom } from '../runtime/random.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { readForLake } from '../store/reads/lake-source.js';

export { damagedLakeHint, type LakeChecked } from '../exports/lake/check-lake.js';
export type { LakeAsk, LakeSynced } from '../exports/lake/sync-lake.js';

/** Brings a lake to the state of the mirror, read in one snapshot. */
export async function syncLake(
  location: DatabaseLocation,
  ask: LakeAsk,
  clock: Clock,
  signal: AbortSignal,
): Promise<LakeSynced> {
  const parts = { clock, signal, random: systemRandom, disk: systemLakeDisk, version: packageVersion() };
  refuseUnsupported(ask.folder);
  return await synced((work) => readForLake(location, work), ask, parts);
}

/** Throws `usage` for an address that is no folder, and for a name that DuckDB would read as a pattern. */
export function refuseUnsupported(folder: string): void {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(folder))
    throw new Fault('usage', `${folder} is not a folder: rosterd writes lakes to folders only`, {
      hint: 'rosterd lake sync ./lake, then copy it as docs/lake.md shows, _current.json last',
    });
  if (/[*?[\]]/.test(folder))
    throw new Fault('usage', `${folder} contains one of * ? [ ], which DuckDB reads as a pattern`, {
      hint: 'Name a folder without them.',
    });
}

/**
 * Erases from a lake the people who are no longer in the mirror. Returns `none` if it has no file of people. Throws what
 * `syncLake` throws, `usage` also for a damaged lake: its files may have people then.
 */
export async function eraseInLake(
  location: DatabaseLocation,
  ask: Pick<LakeAsk, 'folder' | 'keep'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<'none' | 'rewritten'> {
  const people = await removeUnnamedPeople(ask.folder, { clock, random: systemRandom, disk: systemLakeDisk });
  if (people === 'none') return 'none';
  if (people === 'named')
    await syncLake(location, { ...ask, identity: 'keep', compact: false }, clock, signal);
  return 'rewritten';
}

/**
 * Whether the folder has a lake with people in it, of its current state or left by a killed run. They are not in a damaged one,
 * if it has no file of people. Never throws.
 */
export function lakeHasPeople(folder: string): boolean {
  try {
    if (peopleFiles(folder).length > 0) return true;
    return (readLake(folder)?.pointer.identities ?? null) !== null;
  } catch {
    return false;
  }
}

/** Returns when a lake was last compared with the mirror; null without one. Throws `usage` for a damaged one. */
export function lakeSyncedAt(folder: string): number | null {
  const state = readLake(folder);
  return state === null ? null : millisOf(state.pointer.synced_at as Instant);
}

/** Throws `usage` for a folder without a lake. */
export async function checkLake(folder: string, onFile: () => void): Promise<LakeChecked> {
  return (await checked(folder, onFile)) ?? noLake(folder);
}

export interface LakeViewsAsk {
  readonly folder: string;
  readonly snapshot?: number;
  readonly asOf?: Instant;
}

/** Returns the statements that show one snapshot as views in DuckDB. Throws `usage` for a snapshot that is not kept. */
export function lakeViews({ folder, snapshot, asOf }: LakeViewsAsk): string {
  const state = readLake(folder) ?? noLake(folder);
  const snapshots = readSnapshots(folder, state);
  const found = snapshots.find(
    (one) =>
      (snapshot === undefined || one.snapshot === snapshot) && (asOf === undefined || one.taken_at <= asOf),
  );
  if (found !== undefined) return viewsOf(folder, { manifest: found, identities: state.pointer.identities });
  const oldest = snapshots.at(-1) ?? state.manifest;
  const asked = [
    ...(snapshot === undefined ? [] : [snapshot]),
    ...(asOf === undefined ? [] : [`up to ${asOf}`]),
  ];
  throw new Fault('usage', `the lake has no snapshot ${asked.join(' ')}`, {
    hint: `its snapshots are ${oldest.snapshot} (${oldest.taken_at}) to ${state.manifest.snapshot} (${state.manifest.taken_at})`,
  });
}

function noLake(folder: string): never {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new Fault('usage', `${folder} is not a folder`, { hint: 'Name the folder of a lake.' });
  throw new Fault('usage', `${folder} has no lake`, { hint: `rosterd lake sync ${shellWord(folder)}` });
}
