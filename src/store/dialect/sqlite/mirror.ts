import type { FaultCode } from '../../../domain/fault.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { Cursor } from '../../../domain/position.js';
import type { Clock } from '../../../runtime/clock.js';
import type {
  Applied,
  Brake,
  BrakePolicy,
  FeedPage,
  Lease,
  ListingProgress,
  ListingStart,
  Mirror,
  Opened,
  Reached,
  SourceIdentity,
  TickReport,
} from '../../../sync/ports.js';
import type { NoticeHooks } from '../../committed-change.js';
import { Commit } from './commit.js';
import { applyPage } from './delta.js';
import { sqliteFault, withSqliteFaults } from './faults.js';
import { buildIndexes } from './indexes.js';
import { checkFence, takeLease } from './leases.js';
import { addListingPage, beginListing, publishListing } from './listing.js';
import type { SqliteDatabase } from './open.js';
import { standing } from './standing.js';
import { prepareStatements, type SourceRow, type Statements } from './statements.js';
import { recordTick } from './ticks.js';
import { inTransaction } from './transaction.js';

export interface MirrorOptions {
  readonly clock: Clock;
  /** How long a holder that stopped renewing keeps others out. */
  readonly leaseMs: number;
  readonly notices?: NoticeHooks;
  /** `drop`: the feed brings no identity, on purpose. */
  readonly identity?: 'keep' | 'drop';
}

/** The write side on SQLite. The database is migrated before, and its connection serves nobody else's transactions. */
export class SqliteMirror implements Mirror {
  readonly #database: SqliteDatabase;
  readonly #options: MirrorOptions;
  readonly #statements: Statements;

  constructor(database: SqliteDatabase, options: MirrorOptions) {
    this.#database = database;
    this.#options = options;
    this.#statements = withSqliteFaults(database.file, () => prepareStatements(database.raw));
  }

  async open({ name, fingerprint }: SourceIdentity, holder: string): Promise<Opened> {
    return this.#transaction((now) => {
      this.#statements.addSource.run(name, fingerprint);
      const source = this.#source(name);
      const fence = takeLease(this.#statements, source, holder, now, this.#options.leaseMs);
      return {
        lease: { source: name, fence },
        standing: standing(this.#statements, source),
        filtersChanged: source.fingerprint !== fingerprint,
      };
    });
  }

  async renew(lease: Lease): Promise<void> {
    this.#transaction((now) => {
      const source = this.#source(lease.source);
      checkFence(this.#statements, source, lease);
      this.#statements.moveLease.run(instantFromMillis(now + this.#options.leaseMs), source.no, lease.fence);
    });
  }

  /** Under an old fence there is nothing to give back. */
  async release(lease: Lease): Promise<void> {
    this.#transaction((now) => {
      const source = this.#source(lease.source);
      this.#statements.moveLease.run(instantFromMillis(now), source.no, lease.fence);
    });
  }

  async beginListing(lease: Lease, start: ListingStart): Promise<ListingProgress> {
    return this.#commit(lease, (commit) => beginListing(commit, start));
  }

  async addListingPage(
    lease: Lease,
    page: FeedPage,
  ): Promise<{ readonly progress: ListingProgress; readonly applied: Applied }> {
    const { raw } = this.#database;
    // A page that a power cut takes is fetched again, since its position goes with it: not worth a wait for the
    // disk each time. The commit that publishes waits, and takes every page before it along.
    raw.pragma('synchronous = NORMAL');
    try {
      return this.#commit(lease, (commit) => addListingPage(commit, page));
    } finally {
      raw.pragma('synchronous = FULL');
    }
  }

  async publishListing(
    lease: Lease,
    final: Cursor,
    brake: BrakePolicy,
  ): Promise<{ readonly applied: Applied; readonly brake: Brake | null }> {
    await this.#buildIndexes();
    return this.#commit(lease, (commit) => publishListing(commit, final, brake));
  }

  async applyPage(lease: Lease, page: FeedPage, reached: Reached): Promise<Applied> {
    return this.#commit(lease, (commit) => applyPage(commit, page, reached));
  }

  async recordTick(
    lease: Lease,
    report: TickReport,
    halted: { code: FaultCode; message: string } | null,
  ): Promise<void> {
    this.#commit(lease, (commit) => recordTick(commit, report, halted));
  }

  #commit<Result>(lease: Lease, work: (commit: Commit) => Result): Result {
    return this.#transaction((now) => {
      const source = this.#source(lease.source);
      checkFence(this.#statements, source, lease);
      const { notices, identity = 'keep' } = this.#options;
      const commit = new Commit(this.#statements, source, notBefore(source, now), { notices, identity });
      const result = work(commit);
      commit.finish();
      return result;
    });
  }

  #transaction<Result>(work: (now: number) => Result): Result {
    const { file, raw } = this.#database;
    return withSqliteFaults(file, () => inTransaction(raw, () => work(this.#options.clock.now())));
  }

  #source(name: string): SourceRow {
    const source = this.#statements.source.get(name);
    if (source === undefined) throw new Error(`source ${name} was never opened`);
    return source;
  }

  async #buildIndexes(): Promise<void> {
    try {
      await buildIndexes(this.#database.raw);
    } catch (error) {
      throw sqliteFault(error, this.#database.file);
    }
  }
}

/** The wall clock may go back; a source's commits do not, or as-of would answer two versions at once. */
function notBefore(source: SourceRow, now: number): Instant {
  const instant = instantFromMillis(now);
  const last = source.last_committed_at as Instant | null;
  return last !== null && last > instant ? last : instant;
}
