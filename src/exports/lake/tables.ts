import { instantFromMillis } from '../../domain/instant.js';
import { quotedText, type Workshop } from '../duckdb.js';
import { columnTypes } from '../parquet-types.js';
import type { LakeMirror, RowSource } from '../ports.js';
import { readFiles } from './current-rows.js';
import type { DataFiles } from './data-files.js';
import {
  columnsOf,
  isSameColumns,
  type LakeFile,
  type LakeManifest,
  type LakeState,
  readSnapshots,
  rowsIn,
} from './layout.js';

export interface TablesParts {
  readonly folder: string;
  readonly mirror: LakeMirror;
  readonly duckdb: Workshop;
  readonly files: DataFiles;
  readonly state: LakeState | null;
  /** The number of the snapshot that is being written. */
  readonly snapshot: number;
  /** Number of snapshots to keep. */
  readonly keep: number;
}

type Tables = LakeManifest['tables'];
type BaseFile = Tables['investments']['files'][number];
type ChangesFile = Tables['investment_changes']['files'][number];

/** Below this number of changed rows, or this share of the base, reading both is cheap. */
const changedRowsMin = 10_000;
const changedShareMax = 0.2;
/** More files than this are slow to open. */
const changeFilesMax = 64;

/** Returns whether so much was added since the base that reading both has become dear. */
export function isCompactionDue({ tables }: LakeManifest, added: number): boolean {
  if (added === 0) return false;
  const { base_snapshot, files } = tables.investments;
  const later = tables.investment_changes.files.filter(({ last_snapshot }) => last_snapshot > base_snapshot);
  const changed = added + rowsIn(later);
  return (
    later.length >= changeFilesMax || changed > Math.max(changedRowsMin, changedShareMax * rowsIn(files))
  );
}

/** Writes the files of the tables without people, and returns their entries in the manifest. */
export class LakeTables {
  constructor(private readonly parts: TablesParts) {}

  /** The rows of a new base are those of `everything`; without one, `log` is added to what the lake has. */
  async investments(
    hasNewBase: boolean,
    changed: number,
    taken: number,
  ): Promise<Pick<Tables, 'investments' | 'investment_changes'>> {
    const { mirror, state, snapshot } = this.parts;
    const before = state?.manifest.tables;
    const columns = columnsOf(mirror.investmentColumns, columnTypes);
    const day = instantFromMillis(taken).slice(0, 10);
    const investments =
      hasNewBase || before === undefined
        ? { columns, base_snapshot: snapshot, files: await this.#base() }
        : before.investments;
    const added = changed === 0 ? [] : [await this.#changes(day)];
    const all = [...(before?.investment_changes.files ?? []), ...added];
    const files = hasNewBase ? await this.#merged(all, day) : all;
    const oldest = this.#oldestBase(investments.base_snapshot);
    const dropped = files.filter(({ last_snapshot }) => last_snapshot <= oldest);
    const opType = { name: 'op', type: 'VARCHAR' };
    return {
      investments,
      investment_changes: {
        columns: [{ name: 'snapshot', type: 'BIGINT' }, opType, ...columns],
        complete_after: Math.max(
          before?.investment_changes.complete_after ?? snapshot,
          ...dropped.map(({ last_snapshot }) => last_snapshot),
        ),
        files: files.filter((file) => !dropped.includes(file)),
      },
    };
  }

  /** Returns the previous entry unchanged when the table has the same rows. */
  async plain(name: 'companies' | 'rounds', source: RowSource): Promise<Tables[typeof name]> {
    const columns = columnsOf(source.columns, columnTypes);
    await this.parts.duckdb.load(name, source);
    const before = this.parts.state?.manifest.tables[name];
    if (
      before !== undefined &&
      isSameColumns(before.columns, columns) &&
      (await this.#equals(name, before.files))
    )
      return before;
    return {
      columns,
      files: [await this.parts.files.write(name, `SELECT * FROM ${name} ORDER BY source, id`, 'whole')],
    };
  }

  async #equals(table: string, files: readonly LakeFile[]): Promise<boolean> {
    const old = readFiles(this.parts.folder, files);
    const [row] = await this.parts.duckdb.rows(`SELECT count(*) FROM (
      (SELECT * FROM ${table} EXCEPT ALL SELECT * FROM ${old})
      UNION ALL (SELECT * FROM ${old} EXCEPT ALL SELECT * FROM ${table}))`);
    return Number(row?.[0]) === 0;
  }

  /** Returns the oldest base that a kept snapshot needs: changes up to it are of no use to any of them. */
  #oldestBase(own: number): number {
    if (this.parts.state === null) return 0;
    const older = readSnapshots(this.parts.folder, this.parts.state).slice(0, this.parts.keep - 1);
    return Math.min(own, ...older.map(({ tables }) => tables.investments.base_snapshot));
  }

  async #base(): Promise<readonly BaseFile[]> {
    const files: BaseFile[] = [];
    for (const { source } of this.parts.mirror.position.sources) {
      const rows = `SELECT * FROM everything WHERE source = ${quotedText(source)} ORDER BY id`;
      files.push({ ...(await this.parts.files.write(`investments/source=${source}`, rows, 'base')), source });
    }
    return files;
  }

  async #changes(day: string): Promise<ChangesFile> {
    const file = await this.parts.files.write(
      `investment_changes/day=${day}`,
      'SELECT * FROM log ORDER BY source, id',
      'changes',
    );
    return { ...file, first_snapshot: this.parts.snapshot, last_snapshot: this.parts.snapshot };
  }

  /** Makes one file of the small ones since the last time, so that their number stays bounded. */
  async #merged(all: readonly ChangesFile[], day: string): Promise<readonly ChangesFile[]> {
    const small = all.filter(({ first_snapshot, last_snapshot }) => first_snapshot === last_snapshot);
    if (small.length < 2) return all;
    const rows = `SELECT * FROM ${readFiles(this.parts.folder, small)} ORDER BY snapshot, source, id`;
    const file = await this.parts.files.write(`investment_changes/day=${day}`, rows, 'changes');
    const one = {
      ...file,
      first_snapshot: Math.min(...small.map(({ first_snapshot }) => first_snapshot)),
      last_snapshot: Math.max(...small.map(({ last_snapshot }) => last_snapshot)),
    };
    return [...all.filter((each) => !small.includes(each)), one];
  }
}
