import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { Cursor } from '../../../domain/position.js';
import type {
  Applied,
  Brake,
  BrakePolicy,
  Ending,
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
import { checkFence, nextFence } from '../../lease-rules.js';
import type { MirrorOptions } from '../../mirror-options.js';
import { commitTimes, type SourceRow } from '../../source-row.js';
import { standing } from '../../standing.js';
import { type Halted, tellOutcome, tickValues } from '../../tick-outcome.js';
import { Commit } from './commit.js';
import { applyPage } from './delta.js';
import { sqliteFault, withSqliteFaults } from './faults.js';
import { buildIndexes, sortingInFiles } from './indexes.js';
import { areStray } from './kept-totals.js';
import { addListingPage, beginListing, deleteAwaiting, publishListing } from './listing.js';
import type { SqliteDatabase } from './open.js';
import { prepareStatements, type Statements } from './statements.js';
import { inTransaction, withoutWaiting } from './transaction.js';

/**
 * `bookkeeping` does not wait for the disk. A power cut may take such commits, newest first, and never one before
 * them: who held a lease (nobody outlives the cut), how a tick went, what will be fetched again.
 */
type Durability = 'durable' | 'bookkeeping';

type Work<Result> = (commit: Commit, now: number) => Result;

/** Undoes a commit of bookkeeping that turned out to erase somebody: SQLite cannot change its mind about the disk half-way. */
class MustLast extends Error {
  constructor(readonly at: number) {
    super('this commit has to wait for the disk');
  }
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
    return this.#transaction('bookkeeping', (now) => {
      const source = this.#statements.source.get(name) ?? this.#added(name, fingerprint);
      const held = this.#statements.lease.get(source.no);
      const fence = nextFence(held, { source: name, holder, now }, this.#options);
      this.#statements.takeLease.run(
        source.no,
        holder,
        fence,
        instantFromMillis(now + this.#options.leaseMs),
      );
      return {
        lease: { source: name, fence },
        standing: standing(source, {
          listing: this.#statements.listing.get(source.no),
          sweep: this.#statements.sweep.get(source.no),
        }),
        filtersChanged: source.fingerprint !== fingerprint,
        identityIncluded: source.identity_included === null ? null : source.identity_included === 1,
        cursorSavedAt: source.cursor_saved_at as Instant | null,
      };
    });
  }

  async renew(lease: Lease): Promise<void> {
    this.#transaction('bookkeeping', (now) => {
      const source = this.#source(lease.source);
      checkFence(this.#statements.lease.get(source.no), lease);
      this.#statements.moveLease.run(instantFromMillis(now + this.#options.leaseMs), source.no, lease.fence);
    });
  }

  /** Under an old fence there is nothing to give back. */
  async release(lease: Lease): Promise<void> {
    this.#transaction('bookkeeping', (now) => {
      const source = this.#source(lease.source);
      this.#statements.moveLease.run(instantFromMillis(now), source.no, lease.fence);
    });
  }

  async beginListing(lease: Lease, start: ListingStart): Promise<ListingProgress> {
    return this.#commit('durable', lease, (commit) => beginListing(commit, start));
  }

  async addListingPage(
    lease: Lease,
    page: FeedPage,
  ): Promise<{ readonly progress: ListingProgress; readonly applied: Applied }> {
    // A page that a power cut takes is fetched again, since its position goes with it: not worth a wait for the
    // disk each time. The commit that publishes waits, and takes every page before it along.
    return this.#commit('bookkeeping', lease, (commit) => addListingPage(commit, page));
  }

  async publishListing(
    lease: Lease,
    final: Cursor,
    brake: BrakePolicy,
  ): Promise<{ readonly applied: Applied; readonly brake: Brake | null }> {
    await this.#buildIndexes();
    const { file, raw } = this.#database;
    const publish = (totalsAreStray: boolean) =>
      this.#commit('durable', lease, (commit) => publishListing(commit, final, brake, totalsAreStray));
    return withSqliteFaults(file, () => {
      const { no, listed_at } = this.#source(lease.source);
      // Adding up sorts numbers of rounds, days and ids, which may stand in files; to swap a listing in sorts people as well.
      // So what is kept is held against the rows before: the peak of re-listing a million went from 288 to 234 MB.
      return listed_at === null
        ? sortingInFiles(raw, () => publish(false))
        : publish(sortingInFiles(raw, () => areStray(raw, no)));
    });
  }

  async applyPage(lease: Lease, page: FeedPage, reached: Reached, ending?: Ending): Promise<Applied> {
    // A position that moved over nothing is found again from the one before it.
    const durability = page.items.length === 0 ? 'bookkeeping' : 'durable';
    return this.#commit(durability, lease, (commit, now) => {
      const applied = applyPage(commit, page, reached);
      if (ending !== undefined) {
        tellTick(commit, ending(applied), null);
        this.#statements.moveLease.run(instantFromMillis(now), commit.source.no, lease.fence);
      }
      return applied;
    });
  }

  async deleteAwaiting(lease: Lease): Promise<Applied> {
    return this.#commit('durable', lease, (commit) => deleteAwaiting(commit));
  }

  async regainIdentity(lease: Lease): Promise<boolean> {
    return this.#commit('durable', lease, (commit) => commit.regainGrant());
  }

  async loseIdentity(lease: Lease): Promise<boolean> {
    return this.#commit('durable', lease, (commit) => commit.loseGrant());
  }

  async recordTick(lease: Lease, report: TickReport, halted: Halted | null): Promise<void> {
    const durability = halted === null ? 'bookkeeping' : 'durable';
    this.#commit(durability, lease, (commit) => tellTick(commit, report, halted));
  }

  /** An erasure is durable whatever it came with: nobody who was gone may be there again after a power cut. */
  #commit<Result>(durability: Durability, lease: Lease, work: Work<Result>): Result {
    try {
      return this.#commitAs(durability, lease, work);
    } catch (error) {
      if (error instanceof MustLast) return this.#commitAs('durable', lease, work, error.at);
      throw error;
    }
  }

  #commitAs<Result>(durability: Durability, lease: Lease, work: Work<Result>, at?: number): Result {
    const write = (now: number) => {
      const source = this.#source(lease.source);
      checkFence(this.#statements.lease.get(source.no), lease);
      const { notices, identity = 'keep' } = this.#options;
      const commit = new Commit(this.#statements, source, commitTimes(source, now), { notices, identity });
      const result = work(commit, now);
      if (commit.finish() && durability === 'bookkeeping') throw new MustLast(now);
      return result;
    };
    return this.#transaction(durability, write, at);
  }

  #transaction<Result>(durability: Durability, work: (now: number) => Result, at?: number): Result {
    const { file, raw } = this.#database;
    const write = () => inTransaction(raw, () => work(at ?? this.#options.clock.now()));
    return withSqliteFaults(file, durability === 'durable' ? write : () => withoutWaiting(raw, write));
  }

  #added(name: string, fingerprint: string): SourceRow {
    this.#statements.addSource.run(name, fingerprint);
    return this.#source(name);
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

function tellTick({ statements, source, now }: Commit, report: TickReport, halted: Halted | null): void {
  statements.insertTick.run(...tickValues(source, report));
  tellOutcome(source, now, report, halted);
}
