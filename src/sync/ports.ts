import type { FaultCode } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { FeedItem } from '../domain/investment.js';
import type { Cents } from '../domain/money.js';
import type { Cursor, PageToken, Position } from '../domain/position.js';
import type { Interruption } from '../runtime/interruption.js';

/** One page of the platform's feed. `next` is never empty: a page without it is `contract_broken`. */
export interface FeedPage {
  readonly mode: 'listing' | 'delta';
  /** Entries on it. They may be parsed only when `items` is asked for: by then the next page is on its way. */
  readonly size: number;
  readonly items: readonly FeedItem[];
  readonly hasMore: boolean;
  readonly next: string;
  readonly publishedThrough: Instant | null;
}

/**
 * The platform's feed as one source sees it: its token, company and filters are bound inside, so that every
 * page is asked for with the same ones.
 *
 * Throws `Fault`: `cursor_expired` on 410, `rate_limited` with `retryAt` when the budget or the platform says
 * wait, `unreachable` / `platform_error` / `contract_broken` after its own retries, `unauthorized`,
 * `reauthorize`, `forbidden`, `refused` when only a human can help, `filters_changed` when the position was given to
 * another account, `stopped` when `signal` fired.
 */
export interface Feed {
  /**
   * `onNext` may be told where the page behind this one begins before this one is read, a guess that the page confirms
   * or not. The page waits for it.
   */
  page(position: Position, signal: Interruption, onNext?: NextTold): Promise<FeedPage>;
}

export type NextTold = (position: Position) => Promise<void>;

/** Which budget a tick may draw on: `webhook` may use the reserve that `routine` work leaves untouched. */
export type Urgency = 'routine' | 'webhook';

/** A source to keep in step: what it is, and its feed under either budget. */
export interface SyncSource {
  readonly identity: SourceIdentity;
  feed(urgency: Urgency): Feed;
  /**
   * Whether the token may read who people are; null when nothing there can tell. Left out where identity is not
   * kept anyway. Throws as a feed does.
   */
  readonly mayReadIdentity?: (signal: Interruption) => Promise<boolean | null>;
}

/** What a source is, as the configuration tells it. */
export interface SourceIdentity {
  readonly name: SourceName;
  /** Account, realm, base URL and filters, hashed. A cursor is only ever used under the fingerprint it came with. */
  readonly fingerprint: string;
}

/** Where a source stands, as committed. */
export type Standing = Active | Halted;

export type Active =
  | { readonly kind: 'empty' }
  | { readonly kind: 'listing'; readonly listing: ListingProgress }
  /**
   * `since` is where the overlap pass reads next: the low mark before its first page, a cursor behind it.
   * `cursor` is the final one of the listing: where deltas begin if the low mark is too old to be asked for.
   */
  | { readonly kind: 'sweeping'; readonly since: Position; readonly cursor: Cursor; readonly listed: Listed }
  | {
      readonly kind: 'following';
      readonly cursor: Cursor;
      readonly listed: Listed;
      /** The token may read identity again, and of some records it was left out before: only a listing brings it. */
      readonly namesIncomplete: boolean;
    };

/** Waits for a human. `before` is where work goes on once the cause is gone; nothing of it was lost. */
export interface Halted {
  readonly kind: 'halted';
  readonly code: FaultCode;
  readonly message: string;
  readonly at: Instant;
  readonly before: Active;
}

/** The last complete listing: when it was published, and how many starts it took. Spaces the next one after a 410. */
export interface Listed {
  readonly at: Instant;
  readonly restarts: number;
}

export interface ListingProgress {
  /** `first` fills an empty mirror; `relist` is collected beside the live rows and swapped in. */
  readonly kind: 'first' | 'relist';
  readonly generation: number;
  /** Null before the first page. */
  readonly token: PageToken | null;
  /** `published_through` of the first page: the listing may have missed what was published after it. */
  readonly lowMark: Instant | null;
  readonly pages: number;
  readonly rows: number;
  /** Set by the page without a successor: the listing is complete and is published next. */
  readonly final: Cursor | null;
  /** How often a 410 in the middle made this listing start again, and when it may do so next. */
  readonly restarts: number;
  readonly notBefore: Instant | null;
}

/** The deletions of a re-listing that a human has to accept: so many of the rows held were not named by it. */
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
 * How many records a commit added, changed, removed, left as they were and newly set aside: one that a listing and
 * the sweep behind it both could not read counts once, and one that stood in quarantine before not again.
 */
export interface Applied {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
  readonly quarantined: number;
}

export const nothingApplied: Applied = { added: 0, changed: 0, removed: 0, unchanged: 0, quarantined: 0 };

/** Proof of holding a source. Every write carries it; a write under a lease that is no longer the newest is refused. */
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
  /** When the next try makes sense, if not at the usual interval. */
  readonly retryAt: Instant | null;
  /** Set when it stays as it is until somebody does what `message` says; it is tried again all the same. */
  readonly lasting?: boolean;
}

/** How a tick ends, once it is known what its last page did. */
export type Ending = (applied: Applied) => TickReport;

export interface Opened {
  readonly lease: Lease;
  readonly standing: Standing;
  readonly filtersChanged: boolean;
  /** What the last page or look told of the grant; null before any did. */
  readonly identityIncluded: boolean | null;
  /** When the position in the feed was last stored; null before there is one. The platform forgets old ones. */
  readonly cursorSavedAt: Instant | null;
}

/**
 * The mirror as the sync engine needs it. Each method that writes is one transaction: rows, tombstones,
 * history, change feed, notices, counters and position commit together or not at all.
 * All throw `database_busy`, `database_full`, `database_unusable`, and `lease_lost` under an old fence.
 */
export interface Mirror {
  /**
   * Registers the source if new, takes the lease, and tells where it stands. `lease_lost` while another holder's
   * lease lasts. Under another fingerprint it opens all the same, so that the refusal can be written down:
   * `filtersChanged`.
   */
  open(source: SourceIdentity, holder: string): Promise<Opened>;
  renew(lease: Lease): Promise<void>;
  release(lease: Lease): Promise<void>;

  /** Starts a listing from its first page, discarding an unfinished one. Adopts `fingerprint` as the source's own. */
  beginListing(lease: Lease, start: ListingStart): Promise<ListingProgress>;
  /**
   * Stores one page of the listing and where the next one begins. Visible in `incoming` only, so that `applied`
   * counts nothing but what was set aside; what readers will see changed is counted by `publishListing`.
   */
  addListingPage(
    lease: Lease,
    page: FeedPage,
  ): Promise<{ readonly progress: ListingProgress; readonly applied: Applied }>;
  /**
   * Makes a complete listing visible in one commit. Where it names so few of the rows held that the brake applies, the
   * others stay and are marked as awaiting deletion; the answer tells how many. Within the brake, or when accepted,
   * they are deleted, those marked before included, and no mark is left.
   */
  publishListing(
    lease: Lease,
    final: Cursor,
    brake: BrakePolicy,
  ): Promise<{ readonly applied: Applied; readonly brake: Brake | null }>;

  /**
   * Applies one delta page and stores the cursor behind it. `sweeping` while the overlap pass is not at its end. With
   * `ending` it is the tick's last: the same commit writes down how the tick ended and gives the lease back.
   */
  applyPage(lease: Lease, page: FeedPage, reached: Reached, ending?: Ending): Promise<Applied>;

  /** Deletes every row marked as awaiting deletion, as a listing does that is within the brake. */
  deleteAwaiting(lease: Lease): Promise<Applied>;

  /** The token may read identity, as the platform said when asked. Returns whether names are incomplete. */
  regainIdentity(lease: Lease): Promise<boolean>;
  /** The grant includes identity no more: erases what the source holds of it. False when it held none. */
  loseIdentity(lease: Lease): Promise<boolean>;

  /** Writes down how a tick ended; halts the source when only a human can help, and ends a halt when `halted` is null. */
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

/** A change as notices see it: ids and amounts, before and after, never a name. */
export interface ChangeSeen {
  readonly kind: 'added' | 'changed' | 'removed';
  readonly fields: readonly string[];
  readonly committedCentsBefore: Cents | null;
  readonly committedCentsAfter: Cents | null;
}
