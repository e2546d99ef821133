import { dirname, join, posix } from 'node:path';
import { Fault } from '../../domain/fault.js';
import { instantFromMillis } from '../../domain/instant.js';
import type { Clock } from '../../runtime/clock.js';
import { type Random, randomText } from '../../runtime/random.js';
import { replaceFile } from '../../runtime/replace-file.js';
import { columnList, type LoadDuckDb, quotedText, type Workshop, withWorkshop } from '../duckdb.js';
import { columnTypes } from '../parquet-types.js';
import type { LakeMirror, LakePosition, RowSource } from '../ports.js';
import { investmentsOf, readFiles } from './current-rows.js';
import { type LakeDisk, measured } from './disk.js';
import { diskFault } from './disk-fault.js';
import {
  columnsOf,
  type LakeFile,
  type LakeIdentities,
  type LakeManifest,
  type LakePointer,
  type LakeState,
  lakeFormat,
  lakeVersion,
  manifestPath,
  numberText,
  pointerName,
  readLake,
  readSnapshots,
  sha256Of,
  snapshotFolder,
} from './layout.js';
import { type LakeLock, withLakeLock } from './lock.js';
import { refuseForeign, removeLeftovers, removeUnneeded, workshopStart, writeViews } from './own-files.js';

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

export interface LakeSynced {
  readonly folder: string;
  readonly snapshot: number;
  /** `none`: the lake already had everything. `full`: every row was read. */
  readonly wrote: 'none' | 'changes' | 'full';
  readonly rows: number;
  /** Rows added to `investment_changes`: new, changed and deleted investments. */
  readonly changed: number;
  readonly deleted: number;
  readonly files_written: number;
  readonly bytes_written: number;
  readonly files_removed: number;
  /** Files of people rewritten or removed; null without identity. */
  readonly identity_files: number | null;
  readonly change_seq: number;
}

/** Below this number of changed rows, or this share of the base, reading both is cheap. */
const changedRowsMin = 10_000;
const changedShareMax = 0.2;
/** More files than this are slow to open. */
const changeFilesMax = 64;
/** With more people, a source has sixteen files of them, so that one change rewrites a sixteenth. */
const bucketRowsMin = 50_000;

/**
 * Brings the files of a lake to the state of the mirror. Everything new is written beside what is there, and becomes
 * current by one rename; a failure or a crash at any moment leaves the previous snapshot complete. Files that no kept
 * snapshot needs are deleted afterwards, and so are the previous files of people. Throws `usage` for a folder with
 * other content, `database_busy` while another process writes to it.
 */
export async function syncLake(mirror: LakeMirror, ask: LakeAsk, parts: LakeParts): Promise<LakeSynced> {
  const { folder } = ask;
  const { disk } = parts;
  // A lake that is there loses what an erased source left in it.
  if (mirror.position.sources.length === 0 && readLake(folder) === null)
    throw new Fault('database_unusable', 'no source of the mirror has a complete listing yet', {
      hint: 'rosterd sync',
    });
  refuseForeign(folder);
  try {
    await disk.makeFolder(folder);
    return await underLock(mirror, ask, parts);
  } catch (error) {
    throw diskFault(folder, error);
  }
}

function underLock(mirror: LakeMirror, ask: LakeAsk, parts: LakeParts): Promise<LakeSynced> {
  const { folder } = ask;
  const { disk } = parts;
  return withLakeLock(folder, parts, async (lock) => {
    const state = readLake(folder);
    await removeLeftovers(folder, state, disk);
    const workshop = join(folder, `${workshopStart}${randomText(parts.random, 8)}`);
    await disk.makeFolder(workshop);
    try {
      const load = parts.load ?? (() => import('@duckdb/node-api'));
      return await withWorkshop(workshop, parts.signal, load, (duckdb) =>
        new LakeWriter(mirror, ask, parts, state, duckdb, workshop, lock).write(),
      );
    } finally {
      await disk.remove(workshop);
    }
  });
}

type ChangesFile = LakeManifest['tables']['investment_changes']['files'][number];

class LakeWriter {
  readonly #folder: string;
  readonly #disk: LakeDisk;
  readonly #snapshot: number;
  readonly #identity: boolean;
  /** Folders with new entries, synced before anything refers to them. */
  readonly #touched = new Set<string>();
  #files = 0;
  #bytes = 0;

  constructor(
    private readonly mirror: LakeMirror,
    private readonly ask: LakeAsk,
    private readonly parts: LakeParts,
    private readonly state: LakeState | null,
    private readonly duckdb: Workshop,
    private readonly workshop: string,
    private readonly lock: LakeLock,
  ) {
    this.#folder = ask.folder;
    this.#disk = parts.disk;
    this.#snapshot = (state?.manifest.snapshot ?? 0) + 1;
    this.#identity = ask.identity === 'keep' ? (state?.pointer.identities ?? null) !== null : ask.identity;
  }

  async write(): Promise<LakeSynced> {
    const { state, mirror, ask } = this;
    if (state !== null && !ask.compact && this.#isCurrent(state)) return await this.#nothing(state);
    const continued =
      state !== null &&
      isSame(state.manifest.tables.investments.columns, columnsOf(mirror.investmentColumns, columnTypes)) &&
      (await mirror.continues(state.pointer.position));
    if (state !== null) await this.#createPrior(state.manifest);
    let full = !continued;
    if (state !== null && continued) {
      await this.#readChanges(state.pointer.position);
      full = ask.compact || !(await this.#sumsAgree()) || (await this.#isCompactionDue(state.manifest));
    }
    if (full) await this.#readAll(state !== null);
    const tables = {
      companies: await this.#plainTable('companies', mirror.companies()),
      rounds: await this.#plainTable('rounds', mirror.rounds()),
    };
    const identities = this.#identity ? await this.#identities() : null;
    const [changed = 0, deleted = 0] = await this.#numbers(
      `SELECT count(*), count(*) FILTER (op = 'delete') FROM log`,
    );
    const same =
      state !== null &&
      changed === 0 &&
      !ask.compact &&
      tables.companies === state.manifest.tables.companies &&
      tables.rounds === state.manifest.tables.rounds;
    const manifest = same
      ? state.manifest
      : await this.#manifest(full, changed, tables.companies, tables.rounds);
    await this.#publish(manifest, identities, !same);
    const removed = await this.#removeUnneeded();
    return {
      folder: this.#folder,
      snapshot: manifest.snapshot,
      wrote: this.#files === 0 && same ? 'none' : full ? 'full' : 'changes',
      rows: mirror.position.sources.reduce((sum, { rows }) => sum + rows, 0),
      changed: changed - deleted,
      deleted,
      files_written: this.#files,
      bytes_written: this.#bytes,
      files_removed: removed,
      identity_files: identities === null ? null : identities.files.length,
      change_seq: mirror.position.change_seq,
    };
  }

  #isCurrent({ pointer }: LakeState): boolean {
    return (
      sameReach(this.mirror.position, pointer.position) && this.#identity === (pointer.identities !== null)
    );
  }

  /** The lake has everything: only the time until which it is complete is newer. */
  async #nothing({ manifest, pointer }: LakeState): Promise<LakeSynced> {
    await this.#publish(manifest, pointer.identities, false);
    return {
      folder: this.#folder,
      snapshot: manifest.snapshot,
      wrote: 'none',
      rows: this.mirror.position.sources.reduce((sum, { rows }) => sum + rows, 0),
      ...{ changed: 0, deleted: 0, files_written: 0, bytes_written: 0 },
      files_removed: await this.#removeUnneeded(),
      identity_files: pointer.identities === null ? null : pointer.identities.files.length,
      change_seq: this.mirror.position.change_seq,
    };
  }

  async #removeUnneeded(): Promise<number> {
    // Files that are new and not named yet may be those of another process.
    this.lock.confirm();
    return await removeUnneeded(this.#folder, this.#disk, this.ask.keep);
  }

  /** What the lake has now, as the view `prior`. */
  async #createPrior(manifest: LakeManifest): Promise<void> {
    const known = new Set(manifest.tables.investments.columns.map(({ name }) => name));
    const columns = this.mirror.investmentColumns.map(({ name, kind }) =>
      known.has(name) ? name : `NULL::${columnTypes[kind]} AS ${name}`,
    );
    const rows = investmentsOf(this.#folder, manifest);
    await this.duckdb.run(`CREATE VIEW prior AS SELECT ${columns.join(', ')} FROM (${rows})`);
  }

  /** Reads what may differ, and keeps what does in the table `log`. */
  async #readChanges(since: LakePosition): Promise<void> {
    await this.duckdb.load('touched', this.mirror.touched(since));
    await this.duckdb.load('fresh', this.mirror.changed(since));
    await this.duckdb.run(`CREATE TABLE log AS
      SELECT ${this.#snapshot}::BIGINT AS snapshot, 'upsert' AS op, * FROM (
        SELECT * FROM fresh EXCEPT SELECT p.* FROM prior p SEMI JOIN touched t USING (source, id))
      UNION ALL BY NAME
      SELECT ${this.#snapshot}::BIGINT AS snapshot, 'delete' AS op, source, id FROM (
        SELECT p.source, p.id FROM prior p SEMI JOIN touched t USING (source, id)) k
        ANTI JOIN fresh f USING (source, id)`);
  }

  /** Reads every row into the table `everything`, and keeps the differences from before in the table `log`. */
  async #readAll(hasPrior: boolean): Promise<void> {
    await this.duckdb.run('DROP TABLE IF EXISTS log');
    await this.duckdb.load('everything', this.mirror.investments());
    const columns = columnList(this.mirror.investmentColumns);
    if (!hasPrior) {
      await this.duckdb.run(`CREATE TABLE log (snapshot BIGINT, op VARCHAR, ${columns})`);
      return;
    }
    await this.duckdb.run(`CREATE TABLE log AS
      SELECT ${this.#snapshot}::BIGINT AS snapshot, 'upsert' AS op, * FROM (
        SELECT * FROM everything EXCEPT SELECT * FROM prior)
      UNION ALL BY NAME
      SELECT ${this.#snapshot}::BIGINT AS snapshot, 'delete' AS op, source, id FROM (
        SELECT source, id FROM prior) k ANTI JOIN everything e USING (source, id)`);
  }

  /** Returns whether rows and sums of each source will equal those of the mirror. */
  async #sumsAgree(): Promise<boolean> {
    const { sources } = this.mirror.position;
    const names = Object.keys(sources[0]?.sums ?? {});
    const sums = names.map((name) => `CAST(coalesce(sum(${name}), 0) AS VARCHAR)`).join(', ');
    const columns = ['source', ...names].join(', ');
    const found = await this.duckdb.rows(`SELECT source, CAST(count(*) AS VARCHAR), ${sums} FROM (
        SELECT ${columns} FROM prior p ANTI JOIN log l USING (source, id)
        UNION ALL SELECT ${columns} FROM log WHERE op = 'upsert') GROUP BY source`);
    const here = new Map(found.map(([source, ...numbers]) => [String(source), numbers.join(' ')]));
    const expected = sources.filter(({ rows }) => rows > 0);
    return (
      here.size === expected.length &&
      expected.every(
        ({ source, rows, sums: exact }) =>
          here.get(source) === [rows, ...names.map((name) => exact[name])].join(' '),
      )
    );
  }

  async #isCompactionDue({ tables }: LakeManifest): Promise<boolean> {
    const { base_snapshot, files } = tables.investments;
    const later = tables.investment_changes.files.filter(
      ({ last_snapshot }) => last_snapshot > base_snapshot,
    );
    const [added = 0] = await this.#numbers('SELECT count(*) FROM log');
    if (added === 0) return false;
    const changed = added + rowsIn(later);
    return (
      later.length >= changeFilesMax || changed > Math.max(changedRowsMin, changedShareMax * rowsIn(files))
    );
  }

  async #numbers(query: string): Promise<readonly number[]> {
    return ((await this.duckdb.rows(query))[0] ?? []).map(Number);
  }

  /** Returns the previous entry unchanged when the table has the same rows. */
  async #plainTable(
    name: 'companies' | 'rounds',
    source: RowSource,
  ): Promise<LakeManifest['tables'][typeof name]> {
    const columns = columnsOf(source.columns, columnTypes);
    await this.duckdb.load(name, source);
    const before = this.state?.manifest.tables[name];
    if (before !== undefined && isSame(before.columns, columns) && (await this.#equals(name, before.files)))
      return before;
    return { columns, files: [await this.#file(name, `SELECT * FROM ${name} ORDER BY source, id`, 'whole')] };
  }

  async #equals(table: string, files: readonly LakeFile[]): Promise<boolean> {
    const old = readFiles(this.#folder, files);
    const [differing] = await this.#numbers(`SELECT count(*) FROM (
      (SELECT * FROM ${table} EXCEPT ALL SELECT * FROM ${old})
      UNION ALL (SELECT * FROM ${old} EXCEPT ALL SELECT * FROM ${table}))`);
    return differing === 0;
  }

  /** Rewrites the files of people in which anything differs: there is one state of them, the current one. */
  async #identities(): Promise<LakeIdentities> {
    const source = this.mirror.identities();
    const columns = columnsOf(source.columns, columnTypes);
    await this.duckdb.load('people', source);
    const sizes = `SELECT source, count(*) AS size FROM people GROUP BY source`;
    const bucket = `CASE WHEN s.size > ${bucketRowsMin} THEN substr(md5(p.id), 1, 1) ELSE 'all' END AS bucket`;
    const label = (rows: string) =>
      `SELECT p.*, ${bucket} FROM ${rows} p LEFT JOIN (${sizes}) s USING (source)`;
    const wanted = (await this.duckdb.rows(
      `SELECT DISTINCT source, bucket FROM (${label('people')}) ORDER BY ALL`,
    )) as readonly (readonly [string, string])[];
    const before = this.state?.pointer.identities;
    const kept = new Map<string, LakeIdentities['files'][number]>();
    if (before != null && before.files.length > 0 && isSame(before.columns, columns)) {
      const old = readFiles(this.#folder, before.files);
      const differing = await this.duckdb.rows(`SELECT DISTINCT source, bucket FROM (
        (${label('people')} EXCEPT ALL ${label(old)}) UNION ALL (${label(old)} EXCEPT ALL ${label('people')}))`);
      const changed = new Set(differing.map((one) => one.join(' ')));
      for (const file of before.files) {
        const key = `${file.source} ${file.bucket}`;
        if (!changed.has(key)) kept.set(key, file);
      }
    }
    const files: LakeIdentities['files'][number][] = [];
    for (const [of, part] of wanted) {
      const same = kept.get(`${of} ${part}`);
      const rows = `SELECT * EXCLUDE (bucket) FROM (${label('people')})
        WHERE source = ${quotedText(of)} AND bucket = ${quotedText(part)} ORDER BY id`;
      const folder = `identities/source=${of}/bucket=${part}`;
      files.push(same ?? { ...(await this.#file(folder, rows, 'people')), source: of, bucket: part });
    }
    return { columns, files };
  }

  async #manifest(
    full: boolean,
    changed: number,
    companies: LakeManifest['tables']['companies'],
    rounds: LakeManifest['tables']['rounds'],
  ): Promise<LakeManifest> {
    const { mirror, state } = this;
    const before = state?.manifest.tables;
    const taken = this.parts.clock.now();
    const columns = columnsOf(mirror.investmentColumns, columnTypes);
    const investments =
      full || before === undefined
        ? { columns, base_snapshot: this.#snapshot, files: await this.#base() }
        : before.investments;
    const added = changed === 0 ? [] : [await this.#changes(instantFromMillis(taken).slice(0, 10))];
    const merged = full ? await this.#merged(added) : null;
    const files = merged ?? [...(before?.investment_changes.files ?? []), ...added];
    const oldest = this.#oldestBase(investments.base_snapshot);
    const dropped = files.filter(({ last_snapshot }) => last_snapshot <= oldest);
    const opType = { name: 'op', type: 'VARCHAR' };
    return {
      format: lakeFormat,
      version: lakeVersion,
      snapshot: this.#snapshot,
      taken_at: instantFromMillis(taken),
      rosterd: this.parts.version,
      position: mirror.position,
      tables: {
        investments,
        investment_changes: {
          columns: [{ name: 'snapshot', type: 'BIGINT' }, opType, ...columns],
          complete_after: Math.max(
            before?.investment_changes.complete_after ?? this.#snapshot,
            ...dropped.map(({ last_snapshot }) => last_snapshot),
          ),
          files: files.filter((file) => !dropped.includes(file)),
        },
        companies,
        rounds,
      },
    };
  }

  /** Returns the oldest base that a kept snapshot needs: changes up to it are of no use to any of them. */
  #oldestBase(own: number): number {
    if (this.state === null) return 0;
    const older = readSnapshots(this.#folder, this.state).slice(0, this.ask.keep - 1);
    return Math.min(own, ...older.map(({ tables }) => tables.investments.base_snapshot));
  }

  async #base(): Promise<LakeManifest['tables']['investments']['files']> {
    const files: LakeManifest['tables']['investments']['files'][number][] = [];
    for (const { source } of this.mirror.position.sources) {
      const rows = `SELECT * FROM everything WHERE source = ${quotedText(source)} ORDER BY id`;
      files.push({ ...(await this.#file(`investments/source=${source}`, rows, 'base')), source });
    }
    return files;
  }

  async #changes(day: string): Promise<ChangesFile> {
    const file = await this.#file(
      `investment_changes/day=${day}`,
      'SELECT * FROM log ORDER BY source, id',
      'changes',
    );
    return { ...file, first_snapshot: this.#snapshot, last_snapshot: this.#snapshot };
  }

  /** Makes one file of the small ones since the last time, so that their number stays bounded. */
  async #merged(added: readonly ChangesFile[]) {
    const all = [...(this.state?.manifest.tables.investment_changes.files ?? []), ...added];
    const small = all.filter(({ first_snapshot, last_snapshot }) => first_snapshot === last_snapshot);
    if (small.length < 2) return null;
    const day = instantFromMillis(this.parts.clock.now()).slice(0, 10);
    const rows = `SELECT * FROM ${readFiles(this.#folder, small)} ORDER BY snapshot, source, id`;
    const file = await this.#file(`investment_changes/day=${day}`, rows, 'changes');
    const one = {
      ...file,
      first_snapshot: Math.min(...small.map(({ first_snapshot }) => first_snapshot)),
      last_snapshot: Math.max(...small.map(({ last_snapshot }) => last_snapshot)),
    };
    return [...all.filter((each) => !small.includes(each)), one];
  }

  /** Writes a Parquet file and gives it its name when it is complete and on disk. */
  async #file(below: string, query: string, word: string): Promise<LakeFile> {
    const name = `${numberText(this.#snapshot)}-${word}-${randomText(this.parts.random, 8)}.parquet`;
    const path = posix.join(below, name);
    const unfinished = join(this.workshop, name);
    await this.duckdb.copy(query, unfinished);
    await this.#disk.protect(unfinished);
    await this.#disk.sync(unfinished);
    const measure = await measured(unfinished);
    const [rows = 0] = await this.#numbers(`SELECT count(*) FROM read_parquet(${quotedText(unfinished)})`);
    const file = join(this.#folder, path);
    await this.#disk.makeFolder(dirname(file));
    await this.#disk.rename(unfinished, file);
    for (let at = dirname(file); at.length >= this.#folder.length; at = dirname(at)) this.#touched.add(at);
    this.#files += 1;
    this.#bytes += measure.bytes;
    return { path, rows, ...measure };
  }

  async #publish(manifest: LakeManifest, identities: LakeIdentities | null, isNew: boolean): Promise<void> {
    for (const folder of this.#touched) await this.#disk.syncFolder(folder);
    // Another process may have published a snapshot of this number.
    this.lock.confirm();
    const path = manifestPath(manifest.snapshot);
    const text = `${JSON.stringify(manifest, null, 1)}\n`;
    if (isNew) {
      await this.#disk.makeFolder(join(this.#folder, snapshotFolder));
      await replaceFile(join(this.#folder, path), text, this.#disk);
      await this.#disk.syncFolder(this.#folder);
    }
    const pointer: LakePointer = {
      format: lakeFormat,
      version: lakeVersion,
      snapshot: manifest.snapshot,
      manifest: path,
      manifest_sha256: sha256Of(text),
      synced_at: instantFromMillis(this.parts.clock.now()),
      position: this.mirror.position,
      identities,
    };
    this.lock.confirm();
    await replaceFile(join(this.#folder, pointerName), `${JSON.stringify(pointer, null, 1)}\n`, this.#disk);
    await writeViews(this.#folder, this.#disk, manifest, identities);
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

const rowsIn = (files: readonly LakeFile[]): number => files.reduce((sum, { rows }) => sum + rows, 0);

const isSame = (one: readonly { name: string; type: string }[], other: typeof one): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
