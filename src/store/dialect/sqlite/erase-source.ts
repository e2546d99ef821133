import type { SourceName } from '../../../domain/ids.js';
import { instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import {
  type Bounds,
  bindsOf,
  boundsOf,
  byNumber,
  type ErasedSlice,
  type ErasedTable,
  type ErasingCommits,
  erasedTables,
  hiddenSources,
  hideSource,
  namingTables,
  nextKeys,
  refuseFollowed,
  type SourceErasure,
  smallTables,
  writeReceipt,
} from '../../erase-source.js';
import { checkFence, followedState, type LeasePolicy, nextFence } from '../../lease-rules.js';
import type { LeaseRow, SourceRow } from '../../source-row.js';
import { withSqliteFaults } from './faults.js';
import type { SqliteDatabase } from './open.js';
import { inTransaction } from './transaction.js';

export interface SqliteErasingOptions extends LeasePolicy {
  readonly clock: Clock;
  readonly holder: string;
}

/** The commits that erase a source in SQLite. Shares the connection of the mirror's writes. */
export class SqliteErasingCommits implements ErasingCommits {
  readonly tables = erasedTables;
  readonly totals = [byNumber('investor_rows', 'rowid')];

  constructor(
    private readonly database: SqliteDatabase,
    private readonly options: SqliteErasingOptions,
  ) {}

  unfinished(): readonly SourceName[] {
    const { raw, file } = this.database;
    return withSqliteFaults(file, () => raw.prepare<[], SourceName>(hiddenSources).pluck().all());
  }

  begin(name: SourceName): { readonly erasing: SourceErasure; readonly rows: number } | null {
    return this.#transaction((now) => {
      const { raw } = this.database;
      const source = raw.prepare<[string], SourceRow>('SELECT * FROM sources WHERE name = ?').get(name);
      if (source === undefined) return null;
      const { no } = source;
      const followed = raw.prepare<[string], string>(`${followedState}?`).pluck().get(name);
      refuseFollowed(name, followed, source.erasing_since !== null);
      const { holder } = this.options;
      const fence = nextFence(this.#lease(no), { source: name, holder, now }, this.options);
      raw.prepare(takeLease).run(no, holder, fence, this.#expiry(now));
      const at = instantFromMillis(now);
      if (source.erasing_since === null) raw.prepare(writeReceipt).run(name, at);
      raw.prepare(hideSource).run(at, no);
      return { erasing: { no, name, fence }, rows: this.#emptySmall({ no, name }) };
    });
  }

  bounds(erasing: SourceErasure, table: ErasedTable): Bounds {
    const { sql, values } = boundsOf(table, erasing);
    return withSqliteFaults(this.database.file, () => {
      const bounds = this.database.raw.prepare<unknown[], Bounds>(sql).get(...values);
      return bounds ?? { min: null, max: null };
    });
  }

  deleteSlice(
    erasing: SourceErasure,
    table: ErasedTable,
    { after, last, limit }: { readonly after: number; readonly last: number; readonly limit: number },
  ): ErasedSlice {
    const { raw, file } = this.database;
    // Outside the transaction: nothing can be added to the source, and most slices of a large mirror contain none of it.
    const keys = withSqliteFaults(file, () =>
      raw
        .prepare<unknown[], number>(nextKeys(table))
        .pluck()
        .all(after, last, ...bindsOf(table, erasing), limit),
    );
    if (keys.length === 0) return { found: 0, deleted: 0 };
    const deleted = this.#held(
      erasing,
      () =>
        raw
          .prepare(
            `DELETE FROM ${table.name} WHERE ${table.key} IN (SELECT value FROM json_each(?)) AND ${table.of}`,
          )
          .run(JSON.stringify(keys), ...bindsOf(table, erasing)).changes,
    );
    return { found: keys.length, deleted };
  }

  finish(erasing: SourceErasure): number {
    return this.#held(erasing, () => {
      const rows = this.#emptySmall(erasing);
      return rows + this.database.raw.prepare('DELETE FROM sources WHERE no = ?').run(erasing.no).changes;
    });
  }

  /** Returns the number of rows deleted. */
  #emptySmall({ no, name }: Pick<SourceErasure, 'no' | 'name'>): number {
    const { raw } = this.database;
    const deleted = (sql: string, value: number | string) => raw.prepare(sql).run(value).changes;
    let rows = 0;
    for (const table of smallTables) rows += deleted(`DELETE FROM ${table} WHERE source_no = ?`, no);
    for (const table of namingTables) rows += deleted(`DELETE FROM ${table} WHERE source = ?`, name);
    // Totals, which count no row of their own.
    for (const table of smallTotals) deleted(`DELETE FROM ${table} WHERE source_no = ?`, no);
    return rows;
  }

  /** Runs `work` in one commit under the lease, which it extends. */
  #held<Result>({ no, name, fence }: SourceErasure, work: () => Result): Result {
    return this.#transaction((now) => {
      checkFence(this.#lease(no), { source: name, fence });
      const result = work();
      this.database.raw
        .prepare('UPDATE leases SET expires_at = ? WHERE source_no = ?')
        .run(this.#expiry(now), no);
      return result;
    });
  }

  #lease(no: number): LeaseRow | undefined {
    return this.database.raw
      .prepare<[number], LeaseRow>('SELECT holder, fence, expires_at FROM leases WHERE source_no = ?')
      .get(no);
  }

  #expiry(now: number): string {
    return instantFromMillis(now + this.options.leaseMs);
  }

  /** Waits for the disk: a power cut must not bring a person back. */
  #transaction<Result>(work: (now: number) => Result): Result {
    const { raw, file } = this.database;
    return withSqliteFaults(file, () => inTransaction(raw, () => work(this.options.clock.now())));
  }
}

const smallTotals = ['round_rows', 'day_rows', 'counted_listings', 'beyond_sums'];

const takeLease = `INSERT INTO leases (source_no, holder, fence, expires_at) VALUES (?, ?, ?, ?)
  ON CONFLICT (source_no) DO UPDATE
  SET holder = excluded.holder, fence = excluded.fence, expires_at = excluded.expires_at`;
