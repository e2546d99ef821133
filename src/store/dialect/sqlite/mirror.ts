import type { SourceName } from '../../../domain/ids.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { FeedItem } from '../../../domain/investment.js';
import type { Cursor } from '../../../domain/position.js';
import type { Interruption } from '../../../runtime/interruption.js';
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
  OpenOptions,
  Reached,
  SourceIdentity,
  TickReport,
} from '../../../sync/ports.js';
import {
  checkFence,
  checkUntaken,
  followedState,
  isOfOther,
  nextFence,
  notStored,
  refuseErasing,
  refuseUnfollowed,
} from '../../lease-rules.js';
import type { MirrorOptions } from '../../mirror-options.js';
import { readPage } from '../../page-facts.js';
import { type Behind, phaseOf } from '../../phase.js';
import { type Rereading, withoutTombstones } from '../../reread.js';
import { commitTimes, type SourceRow, sourceColumns } from '../../source-row.js';
import { type Halted, recordOutcome, tickValues } from '../../tick-outcome.js';
import { Commit } from './commit.js';
import { applyPage, applyReread } from './delta.js';
import { ownSqlFault, withSqliteFaults } from './faults.js';
import type { IdleCheckpoints } from './idle-checkpoints.js';
import { sortingInFiles } from './indexes.js';
import { addListingPage, beginListing, deleteAwaiting, publishListing } from './listing.js';
import type { SqliteDatabase } from './open.js';
import { type LargeListings, ListingHelpers, preparePublication } from './prepare-publication.js';
import { prepareStatements, type Statements } from './statements.js';
import { inTransaction, withoutWaiting } from './transaction.js';

/**
 * `bookkeeping` commits do not wait for the disk. A power cut may lose them, newest first, but never an earlier durable
 * commit. They hold leases (no holder survives the cut), results of ticks, and data that will be fetched again.
 */
type Durability = 'durable' | 'bookkeeping';

type Work<Result> = (commit: Commit, now: number) => Result;

/** A lease that the first write under it takes, with the source as it was when the tick began. */
interface UntakenLease {
  readonly holder: string;
  readonly source: SourceRow;
}

/**
 * Rolls back a `bookkeeping` commit that turned out to erase personal data, so that it is repeated as `durable`: SQLite
 * cannot change `synchronous` inside a transaction.
 */
class MustBeDurable extends Error {
  constructor(readonly at: number) {
    super('this commit has to wait for the disk');
  }
}

/** The write side on SQLite. Needs a migrated database and exclusive use of its connection for transactions. */
export class SqliteMirror implements Mirror, Rereading {
  readonly #database: SqliteDatabase;
  readonly #options: MirrorOptions;
  readonly #statements: Statements;
  readonly #large: LargeListings | undefined;
  readonly #checkpoints: IdleCheckpoints | undefined;
  readonly #untaken = new WeakMap<Lease, UntakenLease>();
  /** The fence tokens that this mirror released, by source. */
  readonly #released = new Map<number, number>();

  constructor(
    database: SqliteDatabase,
    options: MirrorOptions,
    large?: LargeListings,
    checkpoints?: IdleCheckpoints,
  ) {
    this.#database = database;
    this.#options = options;
    this.#large = large;
    this.#checkpoints = checkpoints;
    this.#statements = withSqliteFaults(database.file, () => prepareStatements(database.raw));
  }

  async open(identity: SourceIdentity, holder: string, options: OpenOptions = {}): Promise<Opened> {
    const untaken = options.leaseLater === true ? this.#openUntaken(identity, holder) : null;
    return untaken ?? this.#transaction('bookkeeping', (now) => this.#openNow(identity, holder, now));
  }

  #openNow(identity: SourceIdentity, holder: string, now: number): Opened {
    const { name, fingerprint } = identity;
    if (identity.isFollowed === true)
      refuseUnfollowed(
        name,
        this.#database.raw.prepare<[string], string>(`${followedState}?`).pluck().get(name),
      );
    const source = this.#statements.source.get(name) ?? this.#addSource(name, fingerprint);
    refuseErasing(source, now);
    const current = this.#statements.lease.get(source.no);
    const fence = nextFence(current, { source: name, holder, now }, this.#options);
    this.#takeLease(source, { holder, fence, now });
    if (source.fingerprint === identity.withoutRealm)
      this.#statements.updateSource(['fingerprint']).run(fingerprint, source.no);
    return openedAt(source, identity, fence, {
      listing: this.#statements.listing.get(source.no),
      sweep: this.#statements.sweep.get(source.no),
    });
  }

  /**
   * Opens a source that is being followed without a commit, or returns null for another one. The lease is taken by the
   * first write, which most ticks make once: its commit takes the lease, writes the page and releases the lease. That
   * write checks that no other process has taken the source or written to it since, so it is as safe as taking the lease now.
   */
  #openUntaken(identity: SourceIdentity, holder: string): Opened | null {
    return withSqliteFaults(this.#database.file, () => {
      // Two reads may see two states of the database. The first write notices what came in between.
      const { name } = identity;
      const source = this.#statements.source.get(name);
      if (source?.state !== 'following' || isOfOther(source, identity)) return null;
      if (source.fingerprint === identity.withoutRealm) return null;
      const now = this.#options.clock.now();
      const current = this.#statements.lease.get(source.no);
      const fence = nextFence(current, { source: name, holder, now }, this.#options);
      const opened = openedAt(source, identity, fence, { listing: null, sweep: null });
      this.#untaken.set(opened.lease, { holder, source });
      return { ...opened, leaseLater: true };
    });
  }

  async renew(lease: Lease): Promise<void> {
    this.#transaction('bookkeeping', (now) => {
      const source = this.#source(lease.source);
      this.#checkLease(source, lease, now);
      this.#statements.moveLease.run(instantFromMillis(now + this.#options.leaseMs), source.no, lease.fence);
    });
    this.#untaken.delete(lease);
  }

  /** Releases the lease. Does nothing if it was taken over, or never taken. */
  async release(lease: Lease): Promise<void> {
    if (this.#untaken.delete(lease)) return;
    const no = this.#transaction('bookkeeping', (now) => {
      const source = this.#source(lease.source);
      this.#statements.moveLease.run(instantFromMillis(now), source.no, lease.fence);
      return source.no;
    });
    this.#released.set(no, lease.fence);
  }

  async beginListing(lease: Lease, start: ListingStart): Promise<ListingProgress> {
    return this.#commit('durable', lease, (commit) => beginListing(commit, start));
  }

  async addListingPage(
    lease: Lease,
    page: FeedPage,
  ): Promise<{ readonly progress: ListingProgress; readonly applied: Applied }> {
    // Does not wait for the disk: a page lost in a power cut is fetched again, because its position is lost with it.
    // The commit that publishes the listing waits, and makes every page before it durable too.
    const store = () => this.#commit('bookkeeping', lease, (commit) => addListingPage(commit, page));
    return this.#checkpoints === undefined ? store() : this.#checkpoints.oftenWhile(store);
  }

  async publishListing(
    lease: Lease,
    final: Cursor,
    brake: BrakePolicy,
    signal?: Interruption,
  ): Promise<{ readonly applied: Applied; readonly brake: Brake | null }> {
    const { file, raw } = this.#database;
    const helpers = new ListingHelpers(raw, this.#large, signal);
    try {
      const source = this.#source(lease.source);
      const prepared = await preparePublication(raw, source, lease.fence, helpers);
      const publish = () =>
        this.#commit('durable', lease, (commit) => publishListing(commit, final, brake, prepared));
      // Computing totals sorts numbers, days and ids, which may be in temporary files. Swapping a re-listing in also sorts
      // personal data, which may not.
      return await helpers.step(prepared.kind === 'first' ? () => sortingInFiles(raw, publish) : publish);
    } catch (error) {
      throw ownSqlFault(error, file);
    } finally {
      await helpers.end();
    }
  }

  async applyPage(lease: Lease, page: FeedPage, reached: Reached, ending?: Ending): Promise<Applied> {
    // An empty page only moves the position, and the previous position leads to the same page again.
    const durability = page.items.length === 0 ? 'bookkeeping' : 'durable';
    const write = (commit: Commit) => {
      const applied = applyPage(commit, page, reached);
      if (ending !== undefined) writeTick(commit, ending(applied), null);
      return applied;
    };
    return this.#commit(durability, lease, write, ending !== undefined);
  }

  async reread(lease: Lease, items: readonly FeedItem[]): Promise<Applied> {
    const facts = readPage(withoutTombstones(items));
    return this.#commit('durable', lease, (commit) => applyReread(commit, facts));
  }

  async deleteAwaiting(lease: Lease, rows?: number): Promise<Applied | null> {
    return this.#commit('durable', lease, (commit) => deleteAwaiting(commit, rows));
  }

  async regainIdentity(lease: Lease): Promise<boolean> {
    return this.#commit('durable', lease, (commit) => commit.regainGrant());
  }

  async loseIdentity(lease: Lease): Promise<boolean> {
    return this.#commit('durable', lease, (commit) => commit.loseGrant());
  }

  async recordTick(lease: Lease, report: TickReport, halted: Halted | null): Promise<void> {
    const durability = halted === null ? 'bookkeeping' : 'durable';
    this.#commit(durability, lease, (commit) => writeTick(commit, report, halted));
  }

  /**
   * Runs `work` in one commit, which releases the lease if it `ends` the tick. A commit that erases is always durable: a power
   * cut must not undo an erasure.
   */
  #commit<Result>(durability: Durability, lease: Lease, work: Work<Result>, ends = false): Result {
    try {
      return this.#commitAs(durability, lease, work, ends);
    } catch (error) {
      if (error instanceof MustBeDurable) return this.#commitAs('durable', lease, work, ends, error.at);
      throw error;
    }
  }

  #commitAs<Result>(
    durability: Durability,
    lease: Lease,
    work: Work<Result>,
    ends: boolean,
    at?: number,
  ): Result {
    const write = (now: number) => {
      const source = this.#source(lease.source);
      const isStored = this.#checkLease(source, lease, now, ends);
      const { notices, identity = 'keep' } = this.#options;
      const commit = new Commit(this.#statements, source, commitTimes(source, now), { notices, identity });
      const result = work(commit, now);
      if (commit.finish() && durability === 'bookkeeping') throw new MustBeDurable(now);
      const isReleased = ends && isStored;
      if (isReleased) this.#statements.moveLease.run(instantFromMillis(now), source.no, lease.fence);
      return { result, released: isReleased ? source.no : null };
    };
    const { result, released } = this.#transaction(durability, write, at);
    this.#untaken.delete(lease);
    if (released !== null) this.#released.set(released, lease.fence);
    return result;
  }

  /**
   * Throws `lease_lost` unless the lease is valid, and takes it if it was left to this write. A write that `ends` its tick
   * takes no lease when the last one was released by this mirror: no other process has held the source since, and the fence
   * already stops earlier holders. Returns whether the lease is in the database.
   */
  #checkLease(source: SourceRow, lease: Lease, now: number, ends = false): boolean {
    const current = this.#statements.lease.get(source.no);
    const untaken = this.#untaken.get(lease);
    if (untaken === undefined) {
      checkFence(current, lease);
      return true;
    }
    const { holder } = untaken;
    const isWritten = tickColumns.some((column) => source[column] !== untaken.source[column]);
    checkUntaken(current, lease, { holder, now, isWritten }, this.#options);
    const isOwn = current?.holder === holder && current.fence === this.#released.get(source.no);
    if (ends && isOwn && current.expires_at <= instantFromMillis(now)) return false;
    this.#takeLease(source, { holder, fence: lease.fence, now });
    return true;
  }

  #takeLease(
    { no }: SourceRow,
    { holder, fence, now }: { holder: string; fence: number; now: number },
  ): void {
    this.#statements.takeLease.run(no, holder, fence, instantFromMillis(now + this.#options.leaseMs));
  }

  #transaction<Result>(durability: Durability, work: (now: number) => Result, at?: number): Result {
    const { file, raw } = this.#database;
    const write = () => inTransaction(raw, () => work(at ?? this.#options.clock.now()));
    const result = withSqliteFaults(
      file,
      durability === 'durable' ? write : () => withoutWaiting(raw, write),
    );
    this.#checkpoints?.committed();
    return result;
  }

  #addSource(name: string, fingerprint: string): SourceRow {
    this.#statements.addSource.run(name, fingerprint);
    return this.#source(name);
  }

  #source(name: string): SourceRow {
    const source = this.#statements.source.get(name);
    if (source === undefined) throw notStored(name);
    return source;
  }
}

/** What only ticks write. Companies and rounds are stored without a lease and move `last_committed_at`. */
const tickColumns = sourceColumns.filter((column) => column !== 'last_committed_at');

const openedAt = (source: SourceRow, identity: SourceIdentity, fence: number, behind: Behind): Opened => ({
  lease: { source: source.name as SourceName, fence },
  phase: phaseOf(source, behind),
  filtersChanged: isOfOther(source, identity),
  identityIncluded: source.identity_included === null ? null : source.identity_included === 1,
  cursorSavedAt: source.cursor_saved_at as Instant | null,
});

function writeTick({ statements, source, now }: Commit, report: TickReport, halted: Halted | null): void {
  statements.insertTick.run(...tickValues(source, report));
  recordOutcome(source, now, report, halted);
}
