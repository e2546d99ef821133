import { setImmediate } from 'node:timers/promises';
import { Fault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import type { SourceEraser } from '../installations/ports.js';
import type { Awaitable } from './erasures.js';

/*
 * Erases a source. One commit takes its lease and hides it: from then on no view shows anything of it, and no process
 * can open it. Then its rows are deleted in slices, identity first, and last the row of the source itself. After a crash
 * the source stays hidden, and the next call goes on.
 */

/** A table with rows of the source, ordered by a number. */
export interface ErasedTable {
  readonly name: string;
  readonly key: string;
  /** The condition for the rows of the source; `?` is what `binds` says. */
  readonly of: string;
  readonly binds: readonly ('no' | 'name')[];
  /** The table whose index on `source_no` says between which numbers the rows are; null when there is none. */
  readonly within: { readonly table: string; readonly key: string } | null;
}

/** An expression, so that no index on `source_no` is used: a slice reads rows in the order of their numbers. */
const ofSource = 'source_no + 0 = ?';

/** A table whose rows of the source may have any number. */
export const byNumber = (name: string, key: string): ErasedTable => ({
  name,
  key,
  of: ofSource,
  binds: ['no'],
  within: null,
});

/** A table with an index on `source_no`. */
const byIndex = (name: string, key: string): ErasedTable => ({
  ...byNumber(name, key),
  within: { table: name, key },
});

/** The tables in the order in which they are emptied: identity first. */
export const erasedTables: readonly ErasedTable[] = [
  {
    name: 'identity_rows',
    key: 'row_no',
    of: `EXISTS (SELECT 1 FROM investment_rows r WHERE r.row_no = identity_rows.row_no AND r.source_no + 0 = ?)`,
    binds: ['no'],
    within: { table: 'investment_rows', key: 'row_no' },
  },
  byIndex('staged_rows', 'stage_no'),
  byIndex('quarantine_rows', 'quarantine_no'),
  byIndex('history_rows', 'history_no'),
  byIndex('investment_rows', 'row_no'),
  byNumber('change_rows', 'seq'),
  byNumber('notice_rows', 'notice'),
  byNumber('tick_rows', 'tick'),
  {
    name: 'webhook_inbox',
    key: 'inbox_no',
    // Events for several sources stay, and so do pending ones about the installation itself.
    of: `(source = ? OR (source IS NULL AND (state <> 'pending' OR event NOT LIKE 'installation.%')
          AND installation IN (SELECT f.installation FROM followed_sources f WHERE f.source = ?)))`,
    binds: ['name', 'name'],
    within: null,
  },
  byNumber('erasures', 'erasure'),
];

/** Small tables, which are emptied in the commit that hides the source. */
export const smallTables = [
  ...['listings', 'sweeps', 'staged_pages', 'company_rows', 'company_history_rows', 'offering_rows'],
  ...['offering_history_rows', 'update_rows', 'round_stat_rows', 'collection_rows', 'drift_rows'],
] as const;

/** Tables that name their source. */
export const namingTables = ['pauses', 'operator_requests'] as const;

/** As a source that was never opened, and hidden. `?` are the time, unless the erasure began earlier, and the number. */
export const hideSource = `UPDATE sources SET erasing_since = coalesce(erasing_since, ?),
  state = 'empty', cursor = NULL, cursor_saved_at = NULL, published_through = NULL, listed_at = NULL, listed_seq = NULL,
  rows_held = 0, rows_incoming = 0, pages_incoming = 0, quarantined = 0, identity_included = NULL, last_error = NULL,
  retry_at = NULL, halted_from = NULL, halted_code = NULL, halted_message = NULL, halted_at = NULL, history_from = NULL,
  awaiting_deletion = 0, names_from_generation = NULL, rows_expected = NULL WHERE no = ?`;

export const hiddenSources = 'SELECT name FROM sources WHERE erasing_since IS NOT NULL ORDER BY no';

export const writeReceipt = `INSERT INTO erasures (id, cause, invisible_at) VALUES (?, 'source_erased', ?)`;

/** Throws `lease_lost` for a source that is followed again, unless its erasure has begun already. */
export function refuseFollowed(name: SourceName, state: string | undefined, isBegun: boolean): void {
  if (isBegun || (state !== 'waiting' && state !== 'connected')) return;
  throw new Fault('lease_lost', `source ${name} is followed again, so it is not erased`);
}

/** An erasure in progress. */
export interface SourceErasure {
  readonly no: number;
  readonly name: SourceName;
  readonly fence: number;
}

/** Returns the values for the condition of a table. */
export const bindsOf = ({ binds }: ErasedTable, { no, name }: SourceErasure): readonly (number | string)[] =>
  binds.map((bind) => (bind === 'no' ? no : name));

/** Selects the numbers between which the rows are. Two queries, because SQLite reads the table for one. */
export function boundsOf(
  table: ErasedTable,
  { no }: SourceErasure,
): { sql: string; values: readonly number[] } {
  const { table: name, key } = table.within ?? { table: table.name, key: table.key };
  const where = table.within === null ? '' : 'WHERE source_no = ?';
  const end = (which: 'min' | 'max') => `(SELECT ${which}(${key}) FROM ${name} ${where}) AS ${which}`;
  return { sql: `SELECT ${end('min')}, ${end('max')}`, values: table.within === null ? [] : [no, no] };
}

/** Selects the next numbers of rows. `?` are the number before the first, the last, the condition's, and how many. */
export const nextKeys = ({ name, key, of }: ErasedTable): string =>
  `SELECT ${key} AS key FROM ${name} WHERE ${key} > ? AND ${key} <= ? AND ${of} ORDER BY ${key} LIMIT ?`;

export interface Bounds {
  readonly min: number | null;
  readonly max: number | null;
}

/** The commits of an erasure. All but the first throw `lease_lost` when another process has taken the source. */
export interface ErasingCommits {
  readonly tables: readonly ErasedTable[];
  /** Tables of totals, whose rows are not counted. */
  readonly totals: readonly ErasedTable[];
  /** Returns the sources that an erasure hid and did not finish. */
  unfinished(): Awaitable<readonly SourceName[]>;
  /** Takes the lease and hides the source. Returns null when it is not stored. Throws `lease_lost` while it is held. */
  begin(source: SourceName): Awaitable<{ readonly erasing: SourceErasure; readonly rows: number } | null>;
  bounds(erasing: SourceErasure, table: ErasedTable): Awaitable<Bounds>;
  /** Deletes at most `limit` rows with numbers above `after`, up to `last`. */
  deleteSlice(
    erasing: SourceErasure,
    table: ErasedTable,
    range: { readonly after: number; readonly last: number; readonly limit: number },
  ): Awaitable<ErasedSlice>;
  /** Deletes the row of the source. Returns the number of rows deleted. */
  finish(erasing: SourceErasure): Awaitable<number>;
}

export interface ErasedSlice {
  /** How many rows were chosen: as many as `limit` if there may be more. */
  readonly found: number;
  /** Fewer than `found` if another process, such as a purge, deleted some of them meanwhile. */
  readonly deleted: number;
}

export interface SliceSizes {
  /** A commit of so many rows delays other writers by some hundredths of a second. */
  readonly rowsPerCommit: number;
  /** How many row numbers one commit searches: rows of other sources have numbers between those of the source. */
  readonly numbersPerSlice: number;
}

const usualSizes: SliceSizes = { rowsPerCommit: 2_000, numbersPerSlice: 20_000 };

export class StoredSourceEraser implements SourceEraser {
  constructor(
    private readonly commits: ErasingCommits,
    private readonly sizes: SliceSizes = usualSizes,
  ) {}

  async unfinished(): Promise<readonly SourceName[]> {
    return await this.commits.unfinished();
  }

  async erase(source: SourceName): Promise<{ readonly rows: number }> {
    const begun = await this.commits.begin(source);
    if (begun === null) return { rows: 0 };
    const { erasing } = begun;
    let rows = begun.rows;
    for (const table of this.commits.tables) rows += await this.#empty(erasing, table);
    for (const table of this.commits.totals) await this.#empty(erasing, table);
    return { rows: rows + (await this.commits.finish(erasing)) };
  }

  async #empty(erasing: SourceErasure, table: ErasedTable): Promise<number> {
    const { min, max } = await this.commits.bounds(erasing, table);
    if (min === null || max === null) return 0;
    const { rowsPerCommit, numbersPerSlice } = this.sizes;
    let deleted = 0;
    for (let after = min - 1; after < max; ) {
      const last = after + numbersPerSlice;
      const slice = await this.commits.deleteSlice(erasing, table, { after, last, limit: rowsPerCommit });
      deleted += slice.deleted;
      if (slice.found < rowsPerCommit) after = last;
      await setImmediate();
    }
    return deleted;
  }
}
