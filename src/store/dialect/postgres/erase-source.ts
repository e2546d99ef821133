import type { SourceName } from '../../../domain/ids.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import {
  type Bounds,
  bindsOf,
  boundsOf,
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
import { checkFence, followedState, type LeasePolicy } from '../../lease-rules.js';
import type { SourceRow } from '../../source-row.js';
import { claimLease, renewLease } from './leases.js';
import { lockedSource } from './locked-source.js';
import type { PostgresDatabase } from './open.js';
import { numbered } from './placeholders.js';
import { inTransaction, type Transaction } from './transaction.js';

export interface PostgresErasingOptions extends LeasePolicy {
  readonly clock: Clock;
  readonly holder: string;
}

/** The commits that erase a source in PostgreSQL. */
export class PostgresErasingCommits implements ErasingCommits {
  readonly tables = erasedTables;
  readonly totals = [];

  constructor(
    private readonly database: PostgresDatabase,
    private readonly options: PostgresErasingOptions,
  ) {}

  async unfinished(): Promise<readonly SourceName[]> {
    const rows = await inTransaction(this.database, (transaction) =>
      transaction.rows<{ readonly name: SourceName }>(hiddenSources),
    );
    return rows.map(({ name }) => name);
  }

  begin(name: SourceName): Promise<{ readonly erasing: SourceErasure; readonly rows: number } | null> {
    const { clock, holder } = this.options;
    return inTransaction(this.database, async (transaction) => {
      const known = await transaction.row('SELECT no FROM sources WHERE name = $1 FOR UPDATE', name);
      if (known === undefined) return null;
      const { source } = await lockedSource(transaction, name);
      const followed = await transaction.row<{ readonly state: string }>(`${followedState}$1`, name);
      refuseFollowed(name, followed?.state, source.erasing_since !== null);
      const now = clock.now();
      const fence = await claimLease(transaction, source, { holder, now }, this.options);
      hideIn(transaction, source, instantFromMillis(now));
      const erasing = { no: source.no, name, fence };
      return { erasing, rows: await emptySmall(transaction, erasing) };
    });
  }

  bounds(erasing: SourceErasure, table: ErasedTable): Promise<Bounds> {
    const { sql, values } = boundsOf(table, erasing);
    return inTransaction(this.database, async (transaction) => {
      const bounds = await transaction.row<Bounds>(numbered(sql), ...values);
      return bounds ?? { min: null, max: null };
    });
  }

  deleteSlice(
    erasing: SourceErasure,
    table: ErasedTable,
    { after, last, limit }: { readonly after: number; readonly last: number; readonly limit: number },
  ): Promise<ErasedSlice> {
    const binds = bindsOf(table, erasing);
    return this.#held(erasing, async (transaction) => {
      const found = await transaction.rows<{ key: number }>(
        numbered(nextKeys(table)),
        ...[after, last, ...binds, limit],
      );
      if (found.length === 0) return { found: 0, deleted: 0 };
      const deleted = await transaction.run(
        `DELETE FROM ${table.name} WHERE ${table.key} = ANY($1::bigint[])`,
        found.map(({ key }) => key),
      );
      return { found: found.length, deleted };
    });
  }

  finish(erasing: SourceErasure): Promise<number> {
    return this.#held(erasing, async (transaction) => {
      const rows = await emptySmall(transaction, erasing);
      return rows + (await transaction.run('DELETE FROM sources WHERE no = $1', erasing.no));
    });
  }

  /** Runs `work` in one commit under the lease, which it extends. */
  #held<Result>(
    { name, fence }: SourceErasure,
    work: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    const { clock, leaseMs } = this.options;
    return inTransaction(this.database, async (transaction) => {
      const { lease } = await lockedSource(transaction, name);
      checkFence(lease, { source: name, fence });
      await renewLease(transaction, { source: name, fence }, instantFromMillis(clock.now() + leaseMs));
      return work(transaction);
    });
  }
}

/** Hides a source from every view in the caller's transaction, with a receipt unless its erasure has begun before. */
export function hideIn(
  transaction: Transaction,
  source: Pick<SourceRow, 'no' | 'name' | 'erasing_since'>,
  at: Instant,
): void {
  if (source.erasing_since === null) transaction.send(numbered(writeReceipt), source.name, at);
  transaction.send(numbered(hideSource), at, source.no);
}

/** Empties the tables that have no view which hides a source. Returns the number of rows deleted. */
export async function emptySmall(
  transaction: Transaction,
  { no, name }: Pick<SourceRow, 'no' | 'name'>,
): Promise<number> {
  const deleted = await Promise.all([
    ...smallTables.map((table) => transaction.run(`DELETE FROM ${table} WHERE source_no = $1`, no)),
    ...namingTables.map((table) => transaction.run(`DELETE FROM ${table} WHERE source = $1`, name)),
  ]);
  return deleted.reduce((sum, rows) => sum + rows, 0);
}
