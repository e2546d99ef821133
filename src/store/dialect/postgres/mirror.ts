import { instantFromMillis } from '../../../domain/instant.js';
import type { FeedItem } from '../../../domain/investment.js';
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
import {
  type CommittedPosition,
  checkPosition,
  positionAt,
  positionOf,
  positionOfListing,
  positionOfSweep,
} from '../../committed-position.js';
import { checkFence } from '../../lease-rules.js';
import type { MirrorOptions } from '../../mirror-options.js';
import { readPage } from '../../page-facts.js';
import { phaseOf } from '../../phase.js';
import { type Rereading, withoutTombstones } from '../../reread.js';
import { commitTimes } from '../../source-row.js';
import { type Halted, recordOutcome, tickColumns, tickValues } from '../../tick-outcome.js';
import { Commit } from './commit.js';
import { applyPage, applyReread } from './delta.js';
import { buildIndexes } from './indexes.js';
import { openSource, releaseLease, renewLease } from './leases.js';
import { addListingPage, beginListing, deleteAwaiting, publishListing } from './listing.js';
import { lockAllSources, lockedSource } from './locked-source.js';
import type { PostgresDatabase } from './open.js';
import { type Ahead, RowsAhead } from './rows-ahead.js';
import { inTransaction, mustBeDurable, statement } from './transaction.js';

/**
 * The write side on PostgreSQL. Any number of processes may use one database: every write locks the row of its source,
 * then checks the fence token, and only then reads and writes. A holder that was frozen while its lease was taken over
 * therefore writes nothing; rows that were sent ahead of the check (rows-ahead.ts) are rolled back.
 */
export class PostgresMirror implements Mirror, Rereading {
  readonly #database: PostgresDatabase;
  readonly #options: MirrorOptions;
  readonly #rowsAhead = new RowsAhead();
  /** Where the holder of each lease left its source. */
  readonly #positions = new WeakMap<Lease, CommittedPosition>();

  constructor(database: PostgresDatabase, options: MirrorOptions) {
    this.#database = database;
    this.#options = options;
  }

  async open(source: SourceIdentity, holder: string): Promise<Opened> {
    const now = this.#options.clock.now();
    const opened = await inTransaction(this.#database, (transaction) =>
      openSource(transaction, source, { holder, now }, this.#options),
    );
    this.#positions.set(opened.lease, positionOf(opened.phase));
    return opened;
  }

  async renew(lease: Lease): Promise<void> {
    const { clock, leaseMs } = this.#options;
    await inTransaction(
      this.#database,
      (transaction) => renewLease(transaction, lease, instantFromMillis(clock.now() + leaseMs)),
      // A renewal lost in a power cut only makes the lease expire earlier.
      { mayBeLost: true },
    );
  }

  /** Releases the lease. Does nothing if it was taken over. */
  async release(lease: Lease): Promise<void> {
    const now = instantFromMillis(this.#options.clock.now());
    // If a power cut loses the release, the lease expires by itself.
    await inTransaction(this.#database, async (transaction) => releaseLease(transaction, lease, now), {
      mayBeLost: true,
    });
  }

  async beginListing(lease: Lease, start: ListingStart): Promise<ListingProgress> {
    const progress = await this.#commit(lease, (commit) => beginListing(commit, start));
    this.#positions.set(lease, positionOfListing(progress));
    return progress;
  }

  async addListingPage(
    lease: Lease,
    page: FeedPage,
  ): Promise<{ readonly progress: ListingProgress; readonly applied: Applied }> {
    // Does not wait for the disk: a page lost in a power cut is fetched again, because its position is lost with it.
    // The commit that publishes the listing waits, and makes every page before it durable too.
    const facts = readPage(page.items);
    const ahead = this.#rowsAhead.of(lease.source, facts);
    try {
      const added = await this.#commit(
        lease,
        (commit) => {
          this.#rowsAhead.learn(commit.locked);
          return addListingPage(commit, page, facts, ahead?.rows);
        },
        { mayBeLost: true, everySource: facts.deactivates, ahead },
      );
      this.#positions.set(lease, positionOfListing(added.progress));
      return added;
    } catch (error) {
      if (ahead === null || !this.#rowsAhead.wasMisjudged(lease.source, error)) throw error;
      return this.addListingPage(lease, page);
    }
  }

  async publishListing(
    lease: Lease,
    final: Cursor,
    brake: BrakePolicy,
  ): Promise<{ readonly applied: Applied; readonly brake: Brake | null }> {
    await buildIndexes(this.#database);
    const { published, sweep } = await this.#commit(lease, (commit) => publishListing(commit, final, brake));
    this.#positions.set(lease, positionOfSweep(sweep));
    return published;
  }

  async applyPage(lease: Lease, page: FeedPage, reached: Reached, ending?: Ending): Promise<Applied> {
    const facts = readPage(page.items);
    const applied = await this.#commit(
      lease,
      async (commit, now) => {
        const applied = await applyPage(commit, page, facts, reached);
        if (ending !== undefined) {
          writeTick(commit, ending(applied), null);
          releaseLease(commit.transaction, lease, instantFromMillis(now));
        }
        return applied;
      },
      {
        // An empty page only moves the position, and the previous position leads to the same page again.
        mayBeLost: page.items.length === 0,
        everySource: facts.deactivates,
      },
    );
    this.#positions.set(lease, positionAt(reached));
    return applied;
  }

  async reread(lease: Lease, items: readonly FeedItem[]): Promise<Applied> {
    const facts = readPage(withoutTombstones(items));
    return this.#commit(lease, (commit) => applyReread(commit, facts), { everySource: facts.deactivates });
  }

  async deleteAwaiting(lease: Lease, rows?: number): Promise<Applied | null> {
    return this.#commit(lease, (commit) => deleteAwaiting(commit, rows));
  }

  async regainIdentity(lease: Lease): Promise<boolean> {
    return this.#commit(lease, async (commit) => commit.regainGrant());
  }

  async loseIdentity(lease: Lease): Promise<boolean> {
    return this.#commit(lease, (commit) => commit.loseGrant());
  }

  async recordTick(lease: Lease, report: TickReport, halted: Halted | null): Promise<void> {
    await this.#commit(lease, async (commit) => writeTick(commit, report, halted), {
      mayBeLost: halted === null,
    });
  }

  #commit<Result>(
    lease: Lease,
    work: (commit: Commit, now: number) => Promise<Result>,
    { mayBeLost = false, everySource = false, ahead = null }: CommitOptions = {},
  ): Promise<Result> {
    const { clock, notices, identity = 'keep' } = this.#options;
    return inTransaction(
      this.#database,
      async (transaction) => {
        if (everySource) await lockAllSources(transaction);
        const [locked] = await Promise.all([
          lockedSource(transaction, lease.source),
          ahead?.send(transaction),
        ]);
        checkFence(locked.lease, lease);
        checkPosition(lease, this.#positions.get(lease), positionOf(phaseOf(locked.source, locked)));
        ahead?.judge(locked);
        const now = clock.now();
        const commit = new Commit(transaction, locked, commitTimes(locked.source, now), {
          notices,
          identity,
        });
        const result = await work(commit, now);
        // A power cut must not undo an erasure, whatever caused it.
        if ((await commit.finish()) && mayBeLost) transaction.send(mustBeDurable);
        return result;
      },
      { mayBeLost },
    );
  }
}

interface CommitOptions {
  readonly mayBeLost?: boolean;
  readonly everySource?: boolean;
  readonly ahead?: Ahead | null;
}

function writeTick({ transaction, source, now }: Commit, report: TickReport, halted: Halted | null): void {
  transaction.send(insertTick, ...tickValues(source, report));
  recordOutcome(source, now, report, halted);
}

const insertTick = statement(
  'insert_tick',
  `INSERT INTO tick_rows (${tickColumns.join(', ')})
   VALUES (${tickColumns.map((_, index) => `$${index + 1}`).join(', ')})`,
);
