import { join } from 'node:path';
import { Fault, isFault } from '../../domain/fault.js';
import { instantFromMillis } from '../../domain/instant.js';
import type { Clock } from '../../runtime/clock.js';
import { type Random, randomText } from '../../runtime/random.js';
import { replaceFile } from '../../runtime/replace-file.js';
import { type LoadDuckDb, refuseQuestionMark, type Workshop, withWorkshop } from '../duckdb.js';
import { columnTypes } from '../parquet-types.js';
import type { LakeMirror, LakePosition } from '../ports.js';
import { checkLake, damagedLakeHint, type LakeChecked } from './check-lake.js';
import { DataFiles } from './data-files.js';
import type { LakeDisk } from './disk.js';
import { diskFault } from './disk-fault.js';
import { InvestmentDifferences } from './investment-differences.js';
import {
  columnsOf,
  isSameColumns,
  type LakeIdentities,
  type LakeManifest,
  type LakePointer,
  type LakeState,
  lakeFormat,
  lakeVersion,
  manifestPath,
  pointerName,
  readLake,
  sha256Of,
  snapshotFolder,
} from './layout.js';
import { type LakeLock, withLakeLock } from './lock.js';
import { refuseForeign, removeLeftovers, removeUnneeded, workshopStart, writeViews } from './own-files.js';
import { writePeople } from './people.js';
import { isCompactionDue, LakeTables } from './tables.js';

export interface LakeAsk {
  readonly folder: string;
  /** `keep` leaves the names in or out as they are. */
  readonly identity: boolean | 'keep';
  /** Rewrites the base even if few rows changed. */
  readonly compact: boolean;
  /** Number of snapshots to keep. */
  readonly keep: number;
}

export interface LakeParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly disk: LakeDisk;
  /** Version of rosterd. */
  readonly version: string;
  readonly load?: LoadDuckDb;
}

/** Runs the work with one state of the mirror. */
export type ReadMirror = <Result>(work: (mirror: LakeMirror) => Promise<Result>) => Promise<Result>;

export interface LakeSynced {
  readonly folder: string;
  readonly snapshot: number;
  /** `none`: the lake already had everything. `full`: every row was read. */
  readonly wrote: 'none' | 'changes' | 'full';
  readonly rows: number;
  /** Rows added to `investment_changes`: new, changed and deleted investments. */
  readonly changed: number;
  readonly deleted: number;
  /** Shares and prices of the rows that were read which were rounded, or left out, because they have too many digits. */
  readonly inexact: number;
  readonly files_written: number;
  readonly bytes_written: number;
  readonly files_removed: number;
  /** Files of people rewritten or removed; null without identity. */
  readonly identity_files: number | null;
  readonly change_seq: number;
}

/**
 * Brings the files of a lake to the state of the mirror. Everything new is written beside what is there, and becomes
 * current by one rename; a failure or a crash at any moment leaves the previous snapshot complete. Files that no kept
 * snapshot needs are deleted afterwards, and so are the previous files of people. Throws `usage` for a folder with
 * other content or a question mark in its path, `database_busy` while another process writes to it, `database_unusable` when a file is damaged.
 *
 * The mirror is read after the lock is taken. A state that was read before could be older than the one that another
 * process wrote meanwhile, and name people who were forgotten since.
 */
export async function syncLake(read: ReadMirror, ask: LakeAsk, parts: LakeParts): Promise<LakeSynced> {
  const { folder } = ask;
  refuseQuestionMark(folder, 'Name a folder without one.');
  refuseForeign(folder);
  try {
    await parts.disk.makeFolder(folder);
    return await withLakeLock(folder, parts, (lock) => read((mirror) => underLock(mirror, ask, parts, lock)));
  } catch (error) {
    throw (await damageFault(folder, error, parts.signal)) ?? diskFault(folder, error);
  }
}

/**
 * Returns the fault for an error of DuckDB that a missing or damaged file of the lake explains; null for any other. Only
 * such an error is worth reading every file.
 */
async function damageFault(folder: string, error: unknown, signal: AbortSignal): Promise<Fault | null> {
  if (error instanceof Fault || (error instanceof Error && 'code' in error)) return null;
  let damaged: LakeChecked['problems'][number] | undefined;
  try {
    damaged = (await checkLake(folder, () => signal.throwIfAborted()))?.problems[0];
  } catch (other) {
    // A file that this user may not read.
    return isFault(other) ? other : null;
  }
  if (damaged === undefined) return null;
  return new Fault(
    'database_unusable',
    `a file of the lake is damaged: ${damaged.path} (${damaged.problem})`,
    {
      hint: damagedLakeHint(folder),
      cause: error,
    },
  );
}

async function underLock(
  mirror: LakeMirror,
  ask: LakeAsk,
  parts: LakeParts,
  lock: LakeLock,
): Promise<LakeSynced> {
  const { folder } = ask;
  const { disk } = parts;
  const state = readLake(folder);
  // A lake that is there loses what an erased source left in it.
  if (mirror.position.sources.length === 0 && state === null)
    throw new Fault('database_unusable', 'no source of the mirror has a complete listing yet', {
      hint: 'rosterd sync',
    });
  await removeLeftovers(folder, state, disk);
  const workshop = join(folder, `${workshopStart}${randomText(parts.random, 8)}`);
  await disk.makeFolder(workshop);
  try {
    const load = parts.load ?? (() => import('@duckdb/node-api'));
    return await withWorkshop(workshop, parts.signal, load, (duckdb) =>
      new LakeWriter({ mirror, ask, parts, state, duckdb, workshop, lock }).write(),
    );
  } finally {
    await disk.remove(workshop);
  }
}

interface LakeGiven {
  readonly mirror: LakeMirror;
  readonly ask: LakeAsk;
  readonly parts: LakeParts;
  /** What the lake has; null for a new one. */
  readonly state: LakeState | null;
  readonly duckdb: Workshop;
  /** The folder of unfinished files. */
  readonly workshop: string;
  readonly lock: LakeLock;
}

class LakeWriter {
  readonly #folder: string;
  readonly #snapshot: number;
  readonly #identity: boolean;
  readonly #files: DataFiles;
  readonly #tables: LakeTables;
  readonly #differences: InvestmentDifferences;

  constructor(private readonly given: LakeGiven) {
    const { mirror, ask, parts, state, duckdb, workshop } = given;
    const { folder, identity, keep } = ask;
    const { disk, random } = parts;
    const snapshot = (state?.manifest.snapshot ?? 0) + 1;
    this.#folder = folder;
    this.#snapshot = snapshot;
    this.#identity = identity === 'keep' ? (state?.pointer.identities ?? null) !== null : identity;
    this.#files = new DataFiles({ folder, workshop, disk, random, duckdb, snapshot });
    this.#tables = new LakeTables({ folder, mirror, duckdb, files: this.#files, state, snapshot, keep });
    this.#differences = new InvestmentDifferences({ folder, mirror, duckdb, snapshot });
  }

  async write(): Promise<LakeSynced> {
    const { state, mirror, ask } = this.given;
    if (state !== null && !ask.compact && this.#isCurrent(state)) return await this.#nothing(state);
    const hasNewBase = await this.#readDifferences();
    const companies = await this.#tables.plain('companies', mirror.companies());
    const rounds = await this.#tables.plain('rounds', mirror.rounds());
    const identities = this.#identity ? await this.#people() : null;
    const { all: changed, deleted } = await this.#differences.count();
    const before = state?.manifest.tables;
    const same =
      changed === 0 && !ask.compact && companies === before?.companies && rounds === before?.rounds;
    const manifest =
      state !== null && same
        ? state.manifest
        : await this.#manifest(hasNewBase, changed, { companies, rounds });
    await this.#publish(manifest, identities, manifest !== state?.manifest);
    return {
      ...this.#seen(manifest, identities),
      wrote: this.#files.count === 0 && same ? 'none' : hasNewBase ? 'full' : 'changes',
      changed: changed - deleted,
      deleted,
      inexact: this.#differences.inexact,
      files_removed: await this.#removeUnneeded(),
    };
  }

  #isCurrent({ pointer }: LakeState): boolean {
    return (
      sameReach(this.given.mirror.position, pointer.position) &&
      this.#identity === (pointer.identities !== null)
    );
  }

  /** The lake has everything: only the time until which it is complete is newer. */
  async #nothing({ manifest, pointer }: LakeState): Promise<LakeSynced> {
    await this.#publish(manifest, pointer.identities, false);
    return {
      ...this.#seen(manifest, pointer.identities),
      ...{ wrote: 'none', changed: 0, deleted: 0, inexact: 0 },
      files_removed: await this.#removeUnneeded(),
    };
  }

  #seen(manifest: LakeManifest, identities: LakeIdentities | null) {
    const { sources, change_seq } = this.given.mirror.position;
    return {
      folder: this.#folder,
      snapshot: manifest.snapshot,
      rows: sources.reduce((sum, { rows }) => sum + rows, 0),
      files_written: this.#files.count,
      bytes_written: this.#files.bytes,
      identity_files: identities === null ? null : identities.files.length,
      change_seq,
    };
  }

  async #removeUnneeded(): Promise<number> {
    // Files that are new and not named yet may be those of another process.
    this.given.lock.confirm();
    return await removeUnneeded(this.#folder, this.given.parts.disk, this.given.ask.keep);
  }

  /** Returns whether every row was read, so that a new base has to be written. */
  async #readDifferences(): Promise<boolean> {
    const { state, mirror, ask } = this.given;
    const differences = this.#differences;
    if (state === null) {
      await differences.readAll(false);
      return true;
    }
    const { manifest, pointer } = state;
    const columns = columnsOf(mirror.investmentColumns, columnTypes);
    const isContinued =
      isSameColumns(manifest.tables.investments.columns, columns) &&
      (await mirror.continues(pointer.position));
    await differences.createPrior(manifest);
    if (isContinued) {
      await differences.readChanges(pointer.position);
      const isEnough = !ask.compact && (await differences.sumsAgree());
      if (isEnough && !isCompactionDue(manifest, (await differences.count()).all)) return false;
    }
    await differences.readAll(true);
    return true;
  }

  #people(): Promise<LakeIdentities> {
    const { duckdb, state } = this.given;
    const before = state?.pointer.identities ?? null;
    return writePeople(this.given.mirror.identities(), before, {
      folder: this.#folder,
      ...{ duckdb, files: this.#files },
    });
  }

  async #manifest(
    hasNewBase: boolean,
    changed: number,
    plain: Pick<LakeManifest['tables'], 'companies' | 'rounds'>,
  ): Promise<LakeManifest> {
    const taken = this.given.parts.clock.now();
    return {
      format: lakeFormat,
      version: lakeVersion,
      snapshot: this.#snapshot,
      taken_at: instantFromMillis(taken),
      rosterd: this.given.parts.version,
      position: this.given.mirror.position,
      tables: { ...(await this.#tables.investments(hasNewBase, changed, taken)), ...plain },
    };
  }

  async #publish(manifest: LakeManifest, identities: LakeIdentities | null, isNew: boolean): Promise<void> {
    const { disk } = this.given.parts;
    await this.#files.syncFolders();
    // Another process may have published a snapshot of this number.
    this.given.lock.confirm();
    const path = manifestPath(manifest.snapshot);
    const text = `${JSON.stringify(manifest, null, 1)}\n`;
    if (isNew) {
      await disk.makeFolder(join(this.#folder, snapshotFolder));
      await replaceFile(join(this.#folder, path), text, disk);
      await disk.syncFolder(this.#folder);
    }
    const pointer: LakePointer = {
      format: lakeFormat,
      version: lakeVersion,
      lake: this.given.state?.pointer.lake ?? randomText(this.given.parts.random, 12),
      snapshot: manifest.snapshot,
      manifest: path,
      manifest_sha256: sha256Of(text),
      synced_at: instantFromMillis(this.given.parts.clock.now()),
      position: this.given.mirror.position,
      identities,
    };
    this.given.lock.confirm();
    await replaceFile(join(this.#folder, pointerName), `${JSON.stringify(pointer, null, 1)}\n`, disk);
    await writeViews(this.#folder, disk, manifest, identities);
  }
}

function sameReach(one: LakePosition, other: LakePosition): boolean {
  const reach = ({ change_seq, change_mark, erasure_mark, sources }: LakePosition) =>
    JSON.stringify([
      change_seq,
      change_mark,
      erasure_mark,
      sources.map(({ source, listed_at, history_to, rows, sums }) => [
        source,
        listed_at,
        history_to,
        rows,
        sums,
      ]),
    ]);
  return reach(one) === reach(other);
}
