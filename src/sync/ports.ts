import type { FaultCode } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { FeedItem } from '../domain/investment.js';
import type { Cents } from '../domain/money.js';
import type { Cursor, PageToken, Position } from '../domain/position.js';
import type { Interruption } from '../runtime/interruption.js';
import type { BudgetLeft } from './webhook-spacing.js';

/** The envelope of a page. `next` is never empty: a page without it is rejected as `contract_broken`. */
export interface PageEnvelope {
  readonly mode: 'listing' | 'delta';
  /** Number of entries on the page. */
  readonly size: number;
  readonly hasMore: boolean;
  readonly next: string;
  readonly publishedThrough: Instant | null;
}

/** One page of the platform's feed, as it arrived. */
export interface ReceivedPage extends PageEnvelope {
  /** Parses the entries when it is first called, which may be after the next request was sent. */
  parse(): FeedPage;
}

/** One page of the platform's feed with its entries. */
export interface FeedPage extends PageEnvelope {
  readonly items: readonly FeedItem[];
  /** About how many records the listing of this page will read. Absent where that was not asked, or is not known. */
  readonly rowsExpected?: number;
}

/**
 * The platform's feed for one source. Token, company and filters are bound inside, so every page is requested with
 * the same ones.
 *
 * Throws `Fault`: `cursor_expired` on 410; `rate_limited` with `retryAt` when the budget is used up or the platform
 * says so; `unreachable`, `platform_error` or `contract_broken` after its own retries; `unauthorized`, `reauthorize`,
 * `forbidden` or `refused` when only an operator can help; `filters_changed` when the position belongs to another
 * account; `stopped` when `signal` fired.
 */
export interface Feed {
  /**
   * May call `onNext` with the position of the next page before this page is complete. It is a guess, which the
   * parsed page confirms or not. This page waits for `onNext` to resolve.
   */
  page(position: Position, signal: Interruption, onNext?: OnNext): Promise<ReceivedPage>;
}

export type OnNext = (position: Position) => Promise<void>;

/** The budget a tick draws on: `webhook` may use the reserve that `routine` work leaves untouched. */
export type Urgency = 'routine' | 'webhook';

/** A source to keep in sync: its identity, and its feed under either budget. */
export interface SyncSource {
  readonly identity: SourceIdentity;
  /** Returns the identity that the access token has now. Absent when it cannot change while the process runs. */
  readonly identify?: () => Promise<SourceIdentity>;
  feed(urgency: Urgency): Feed;
  /**
   * Returns whether the token may read identity, or null when the platform offers no way to tell. Absent when the
   * source does not store identity. Throws the same faults as the feed.
   */
  readonly mayReadIdentity?: (signal: Interruption) => Promise<boolean | null>;
  /** Whether `mayReadIdentity` returns false without a request, because no names of this source are kept any more. */
  readonly dropsIdentity?: boolean;
  /**
   * Asks the platform about how many records a listing of this source reads. Returns null when it does not say. Called
   * once in a first listing that takes long.
   */
  readonly expectedRows?: (signal: Interruption) => Promise<number | null>;
  /** Returns what is left of each limit that the requests of this source count against. Absent without limits. */
  readonly limits?: () => readonly BudgetLeft[];
  /**
   * Learns which limits the requests of a source count against that another process follows, and what all processes have
   * left of them. Sends no request.
   */
  readonly refreshLimits?: () => Promise<void>;
}

/** How the sources of a process share the requests of its address. */
export interface SharedRequests {
  /** Time between two timed ticks of a source, and the same while webhooks announce every change. */
  readonly intervalMillis: number;
  readonly idleIntervalMillis: number;
  /** Time between two checks of what the token of a source may read. */
  readonly grantMillis: number;
  /** How timed ticks and grant checks are limited together; null while they cannot use up the address. */
  readonly timed: {
    readonly perHour: number;
    /** Requests that may be made at once after a pause. */
    readonly atOnce: number;
    /** What listings leave of the limit for webhooks, and for an hour of timed ticks. */
    readonly forWebhooks: number;
    readonly neededPerHour: number;
  } | null;
}

/** The last tick of a source that any process recorded. */
export interface LastTick {
  readonly endedAt: Instant;
  /** Whether the source is listed completely. */
  readonly follows: boolean;
}

/** Identifies a source in the configuration. */
export interface SourceIdentity {
  readonly name: SourceName;
  /** Hash of account, realm, base URL and filters. A cursor is only used under the fingerprint it was issued with. */
  readonly fingerprint: string;
  /** The fingerprint with a token that does not show its realm. A source stored under it gets `fingerprint` when opened. */
  readonly withoutRealm?: string;
  /** Of a token that does not show its realm: the fingerprints with one of either realm. A source stored under one keeps it. */
  readonly withRealm?: readonly string[];
  /**
   * A follow rule created it. It lists again by itself when the fingerprint has changed, because a company that installs an
   * application again gets another account; any other source halts until an operator confirms the change. And it is not
   * opened any more once the registry says that it ended.
   */
  readonly isFollowed?: boolean;
}

/** Committed sync state of a source. */
export type Phase = Active | Halted;

export type Active =
  | { readonly kind: 'empty' }
  | { readonly kind: 'listing'; readonly listing: ListingProgress }
  /**
   * `since` is where the overlap pass reads next: the low mark before its first page, then a cursor. `cursor` is the
   * final cursor of the listing: deltas start there if the low mark is older than the feed's retention.
   */
  | { readonly kind: 'sweeping'; readonly since: Position; readonly cursor: Cursor; readonly listed: Listed }
  | {
      readonly kind: 'following';
      readonly cursor: Cursor;
      readonly listed: Listed;
      /**
       * The token may read identity again, but some stored records were read without it. Only a relisting fills them
       * in.
       */
      readonly namesIncomplete: boolean;
    };

/**
 * The source waits for an operator. `before` is the state that work resumes from once the cause is fixed; no progress
 * is lost.
 */
export interface Halted {
  readonly kind: 'halted';
  readonly code: FaultCode;
  readonly message: string;
  readonly at: Instant;
  readonly before: Active;
}

/**
 * The last complete listing: when it was published and how many starts it took. Spaces out the next listing after a
 * 410.
 */
export interface Listed {
  readonly at: Instant;
  readonly restarts: number;
}

export interface ListingProgress {
  /** `first` fills an empty mirror. `relist` is collected in a separate table and swapped in when complete. */
  readonly kind: 'first' | 'relist';
  readonly generation: number;
  /** Null before the first page. */
  readonly token: PageToken | null;
  /** `published_through` of the first page. The listing may miss changes published after it. */
  readonly lowMark: Instant | null;
  readonly pages: number;
  readonly rows: number;
  /** Set by the last page, which has no successor: the listing is complete and is published next. */
  readonly final: Cursor | null;
  /** How often a 410 restarted this listing, and the earliest time of the next start. */
  readonly restarts: number;
  readonly notBefore: Instant | null;
}

/**
 * Deletions of a relisting that an operator has to accept: the listing did not name `wouldRemove` of the `held`
 * stored rows.
 */
export interface Brake {
  readonly wouldRemove: number;
  readonly held: number;
}

export interface BrakePolicy {
  readonly share: number;
  readonly rows: number;
  readonly accepted: boolean;
}

/**
 * Number of records a commit added, changed, removed, left unchanged and newly quarantined. A record that neither the
 * listing nor the following sweep could parse counts once; one that was already in quarantine does not count.
 */
export interface Applied {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
  readonly quarantined: number;
}

export const nothingApplied: Applied = { added: 0, changed: 0, removed: 0, unchanged: 0, quarantined: 0 };

/** Lease on a source. Every write carries it, and a write with an older fence token than the newest is rejected. */
export interface Lease {
  readonly source: SourceName;
  readonly fence: number;
}

export type Trigger = 'start' | 'timer' | 'webhook' | 'manual';

export interface TickReport {
  readonly trigger: Trigger;
  readonly mode: 'listing' | 'relisting' | 'sweep' | 'delta' | 'none';
  readonly startedAt: Instant;
  readonly tookMs: number;
  readonly pages: number;
  readonly applied: Applied;
  readonly outcome: 'done' | 'waiting' | 'failed' | 'stopped';
  readonly code: FaultCode | null;
  readonly message: string | null;
  /** When to retry, if not at the usual interval. */
  readonly retryAt: Instant | null;
  /** The failure persists until someone follows `message`. It is retried anyway. */
  readonly lasting?: boolean;
}

/** Builds the tick's report once the outcome of its last page is known. */
export type Ending = (applied: Applied) => TickReport;

export interface OpenOptions {
  /**
   * The mirror may leave taking the lease to the first write, which saves a commit. That write throws `lease_lost` when
   * another holder took the source in between.
   */
  readonly leaseLater?: boolean;
}

export interface Opened {
  readonly lease: Lease;
  /** Whether the first write takes the lease: see `OpenOptions`. */
  readonly leaseLater?: boolean;
  readonly phase: Phase;
  readonly filtersChanged: boolean;
  /** Whether the grant included identity at the last page or grant check; null before either. */
  readonly identityIncluded: boolean | null;
  /** When the feed position was last stored; null before the first one. The platform's cursors expire. */
  readonly cursorSavedAt: Instant | null;
}

/**
 * The mirror as the sync engine uses it. Each method that writes is one transaction: rows, tombstones, history,
 * change feed, notices, counters and position commit together or not at all. All throw `database_busy`,
 * `database_full` and `database_unusable`, and `lease_lost` when the fence token is out of date.
 */
export interface Mirror {
  /**
   * Registers the source if it is new, acquires the lease and returns the source's state. Throws `lease_lost` while
   * another holder's lease is valid. With a different fingerprint it still opens, so that the halt can be recorded:
   * `filtersChanged`.
   */
  open(source: SourceIdentity, holder: string, options?: OpenOptions): Promise<Opened>;
  renew(lease: Lease): Promise<void>;
  release(lease: Lease): Promise<void>;

  /** Starts a listing from its first page and discards an unfinished one. Stores `fingerprint` as the source's own. */
  beginListing(lease: Lease, start: ListingStart): Promise<ListingProgress>;
  /**
   * Stores one page of the listing and the position of the next. The rows are visible only in `incoming`, so
   * `applied` counts only newly quarantined records; `publishListing` counts what readers see change.
   */
  addListingPage(
    lease: Lease,
    page: FeedPage,
  ): Promise<{ readonly progress: ListingProgress; readonly applied: Applied }>;
  /**
   * Publishes a complete listing in one commit. When the listing names so few of the stored rows that the brake
   * applies, the missing rows stay, are marked as awaiting deletion, and are reported in `brake`. Otherwise, or when
   * deletions are accepted, they are deleted together with the rows marked earlier, and no mark remains. Throws `stopped` when
   * `signal` fired while another program keeps the mirror locked.
   */
  publishListing(
    lease: Lease,
    final: Cursor,
    brake: BrakePolicy,
    signal?: Interruption,
  ): Promise<{ readonly applied: Applied; readonly brake: Brake | null }>;

  /**
   * Applies one delta page and stores the cursor after it. `sweeping` until the overlap pass is complete. When
   * `ending` is given, this is the tick's last page: the same commit records how the tick ended and releases the
   * lease.
   */
  applyPage(lease: Lease, page: FeedPage, reached: Reached, ending?: Ending): Promise<Applied>;

  /**
   * Deletes every row marked as awaiting deletion, in the same way as a listing within the brake does. With `rows`,
   * returns null and deletes nothing when another number of rows is marked.
   */
  deleteAwaiting(lease: Lease, rows?: number): Promise<Applied | null>;

  /** Records that the platform said the token may read identity. Returns whether names are incomplete. */
  regainIdentity(lease: Lease): Promise<boolean>;
  /**
   * Erases the identity stored for the source, because the grant no longer includes it. Returns false when none was
   * stored.
   */
  loseIdentity(lease: Lease): Promise<boolean>;

  /** Records how a tick ended. Halts the source when `halted` is set; ends a halt when it is null. */
  recordTick(
    lease: Lease,
    report: TickReport,
    halted: { code: FaultCode; message: string } | null,
  ): Promise<void>;
}

export interface ListingStart {
  readonly kind: 'first' | 'relist';
  readonly fingerprint: string;
  readonly restarts: number;
  readonly notBefore: Instant | null;
}

export type Reached =
  | { readonly kind: 'following'; readonly cursor: Cursor }
  | { readonly kind: 'sweeping'; readonly cursor: Cursor };

/** A change as notices report it: ids and amounts before and after, never a name. */
export interface ChangeSeen {
  readonly kind: 'added' | 'changed' | 'removed';
  readonly fields: readonly string[];
  readonly committedCentsBefore: Cents | null;
  readonly committedCentsAfter: Cents | null;
}
