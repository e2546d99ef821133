import { instantFromMillis } from '../../../domain/instant.js';
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
import { checkFence } from '../../lease-rules.js';
import type { MirrorOptions } from '../../mirror-options.js';
import { commitTimes } from '../../source-row.js';
import { type Halted, tellOutcome, tickColumns, tickValues } from '../../tick-outcome.js';
import { Commit } from './commit.js';
import { applyPage } from './delta.js';
import { buildIndexes } from './indexes.js';
import { giveBackLease, openSource, renewLease } from './leases.js';
import { addListingPage, beginListing, deleteAwaiting, publishListing } from './listing.js';
import { lockAllSources, lockedSource } from './locked-source.js';
import type { PostgresDatabase } from './open.js';
import { type Ahead, RowsAhead } from './rows-ahead.js';
import { inTransaction, mustLast, statement } from './transaction.js';

/**
 * The write side on PostgreSQL. Any number of these may work on one database: every write locks the row of its
 * source, compares the fence afterwards, and only then reads and writes, so that a holder that was frozen and
 * overtaken writes nothing; rows that go out before (rows-ahead.ts) are rolled back then.
 */
export class PostgresMirror implements Mirror {
  readonly #database: PostgresDatabase;
  readonly #options: MirrorOptions;
  readonly #rowsAhead = new RowsAhead();

  constructor(database: PostgresDatabase, options: MirrorOptions) {
    this.#database = database;
    this.#options = options;
  }

  async open(source: SourceIdentity, holder: string): Promise<Opened> {
    const now = this.#options.clock.now();
    return inTransaction(this.#database, (transaction) =>
      openSource(transaction, source, { holder, now }, this.#options),
    );
  }

  async renew(lease: Lease): Promise<void> {
    const { clock, leaseMs } = this.#options;
    await inTransaction(
      this.#database,
      (transaction) => renewLease(transaction, lease, instantFromMillis(clock.now() + leaseMs)),
      // A renewal that a power cut takes back ends the lease early, and nothing else.
      { mayBeLost: true },
    );
  }

  /** Under an old fence there is nothing to give back. */
  async release(lease: Lease): Promise<void> {
    const now = instantFromMillis(this.#options.clock.now());
    // Nobody has to wait for longer than the lease lasts if it is lost.
    await inTransaction(this.#database, async (transaction) => giveBackLease(transaction, lease, now), {
      mayBeLost: true,
    });
  }

  async beginListing(lease: Lease, start: ListingStart): Promise<ListingProgress> {
    return this.#commit(lease, (commit) => beginListing(commit, start));
  }

  async addListingPage(
    lease: Lease,
    page: FeedPage,
  ): Promise<{ readonly progress: ListingProgress; readonly applied: Applied }> {
    // A page that a power cut takes is fetched again, since its position goes with it: not worth a wait for the
    // disk each time. The commit that publishes waits, and takes every page before it along.
    const ahead = this.#rowsAhead.of(lease.source, page);
    try {
      return await this.#commit(
        lease,
        (commit) => {
          this.#rowsAhead.learn(commit.locked);
          return addListingPage(commit, page, ahead?.rows);
        },
        { mayBeLost: true, everySource: concernsEverySource(page), ahead },
      );
    } catch (error) {
      if (ahead === null || !this.#rowsAhead.misjudged(lease.source, error)) throw error;
      return this.addListingPage(lease, page);
    }
  }

  async publishListing(
    lease: Lease,
    final: Cursor,
    brake: BrakePolicy,
  ): Promise<{ readonly applied: Applied; readonly brake: Brake | null }> {
    await buildIndexes(this.#database);
    return this.#commit(lease, (commit) => publishListing(commit, final, brake));
  }

  async applyPage(lease: Lease, page: FeedPage, reached: Reached, ending?: Ending): Promise<Applied> {
    return this.#commit(
      lease,
      async (commit, now) => {
        const applied = await applyPage(commit, page, reached);
        if (ending !== undefined) {
          tellTick(commit, ending(applied), null);
          giveBackLease(commit.transaction, lease, instantFromMillis(now));
        }
        return applied;
      },
      {
        // A position that moved over nothing is found again from the one before it.
        mayBeLost: page.items.length === 0,
        everySource: concernsEverySource(page),
      },
    );
  }

  async deleteAwaiting(lease: Lease): Promise<Applied> {
    return this.#commit(lease, (commit) => deleteAwaiting(commit));
  }

  async regainIdentity(lease: Lease): Promise<boolean> {
    return this.#commit(lease, async (commit) => commit.regainGrant());
  }

  async loseIdentity(lease: Lease): Promise<boolean> {
    return this.#commit(lease, (commit) => commit.loseGrant());
  }

  async recordTick(lease: Lease, report: TickReport, halted: Halted | null): Promise<void> {
    await this.#commit(lease, async (commit) => tellTick(commit, report, halted), {
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
        ahead?.judge(locked);
        const now = clock.now();
        const commit = new Commit(transaction, locked, commitTimes(locked.source, now), {
          notices,
          identity,
        });
        const result = await work(commit, now);
        // Nobody who was gone may be there again after a power cut, whatever said so.
        if ((await commit.finish()) && mayBeLost) transaction.send(mustLast);
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

/** Somebody is gone from the platform: their records of every source are emptied in the same commit. */
function concernsEverySource({ items }: FeedPage): boolean {
  return items.some((item) =>
    item.kind === 'record'
      ? item.investment.investor_deactivated
      : item.kind === 'rejected' && item.erases === 'deactivated',
  );
}

function tellTick({ transaction, source, now }: Commit, report: TickReport, halted: Halted | null): void {
  transaction.send(insertTick, ...tickValues(source, report));
  tellOutcome(source, now, report, halted);
}

const insertTick = statement(
  'insert_tick',
  `INSERT INTO tick_rows (${tickColumns.join(', ')})
   VALUES (${tickColumns.map((_, index) => `$${index + 1}`).join(', ')})`,
);
