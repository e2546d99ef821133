import type { FaultCode } from '../domain/fault.js';
import type { Instant } from '../domain/instant.js';
import type { Cursor, Position } from '../domain/position.js';
import type { Advance } from './advance.js';
import type { PageSeen } from './page-seen.js';
import type { ListingProgress, ListingStart, Phase, Reached, TickReport, Trigger } from './ports.js';
import type { QuietHours } from './quiet-hours.js';

type Halted = Extract<Phase, { readonly kind: 'halted' }>;

/** State of a running tick: what is committed, and what only this tick knows. */
export interface TickState {
  readonly phase: Phase;
  readonly advance: Advance;
  /** The halt that this tick retries, until the platform answers. A tick without an answer leaves the source halted. */
  readonly retried: Halted | null;
  /** The operator accepts all deletions of the next published listing. */
  readonly acceptDeletions: boolean;
  /** How long to leave a platform that breaks the contract alone; grows with each failed tick. */
  readonly breachWaitMillis: number;
  /** When no listing may be read; null for a tick that a user requests. */
  readonly quiet: QuietHours | null;
}

/** The first four open a tick; the others report the outcome of an effect. */
export type TickEvent =
  | { readonly kind: 'tick_asked'; readonly trigger: Trigger }
  | { readonly kind: 'resync_asked' }
  /** `rows`: accepts exactly this many rows that await deletion now, and no listing. */
  | { readonly kind: 'deletions_accepted'; readonly rows?: number }
  | { readonly kind: 'filters_changed' }
  | { readonly kind: 'listing_begun'; readonly listing: ListingProgress }
  | { readonly kind: 'page_arrived'; readonly asked: Position; readonly page: PageSeen }
  | { readonly kind: 'listing_page_stored'; readonly listing: ListingProgress }
  | { readonly kind: 'delta_page_applied'; readonly reached: Reached; readonly hasMore: boolean }
  | { readonly kind: 'published' }
  | { readonly kind: 'awaiting_deleted' }
  | { readonly kind: 'gone'; readonly asked: Position }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'stop_asked' };

export interface Failure {
  readonly code: FaultCode;
  readonly message: string;
  readonly hint: string | null;
  readonly retryAt: Instant;
  /** The failure persists until someone changes something. */
  readonly lasting?: boolean;
}

export type Effect =
  | { readonly kind: 'begin_listing'; readonly start: Omit<ListingStart, 'fingerprint'> }
  | { readonly kind: 'fetch'; readonly position: Position }
  /** May be fetched while the current page is being written. */
  | { readonly kind: 'prefetch'; readonly position: Position }
  | { readonly kind: 'store_listing_page' }
  | { readonly kind: 'apply_page'; readonly reached: Reached }
  /** Deletes nothing when `rows` is not the number of rows awaiting deletion. */
  | { readonly kind: 'delete_awaiting'; readonly rows?: number }
  | { readonly kind: 'publish'; readonly final: Cursor; readonly accepted: boolean }
  | { readonly kind: 'finish'; readonly end: TickEnd; readonly halt: Halt | null }
  /** The source stays halted and this tick changes nothing, not even the time of the halt. */
  | { readonly kind: 'remain_halted'; readonly end: TickEnd };

export type TickEnd = Pick<TickReport, 'outcome' | 'code' | 'message' | 'retryAt' | 'lasting'>;
export interface Halt {
  readonly code: FaultCode;
  readonly message: string;
}

export interface Decision {
  readonly next: TickState;
  readonly effects: readonly Effect[];
}
