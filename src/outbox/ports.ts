import type { Instant } from '../domain/instant.js';

/**
 * No notice waits longer for its next attempt. One that seems to was put off under a clock that was ahead, and is due
 * now: waiting for that time could take as long as the clock was wrong.
 */
export const noticeWaitMillisMax = 2 * 3_600_000;

export interface DueNotice {
  readonly notice: number;
  readonly source: string;
  readonly target: string;
  /** JSON: ids and amounts, never a name. */
  readonly body: string;
  readonly queuedAt: Instant;
  readonly attempts: number;
}

/** Notices as queued by the commits they tell of. Throws `database_busy`, `database_full`, `database_unusable`. */
export interface Outbox {
  /** Of one target, in the order of their changes; none before its time. */
  dueFor(target: string, now: Instant, max: number): Promise<readonly DueNotice[]>;
  /** Targets that have something pending, and when the first of it is due. */
  waiting(): Promise<readonly { readonly target: string; readonly dueAt: Instant }[]>;
  /** What is known of other notices about the same record to the same target. */
  about(notice: number, since: Instant): Promise<Spacing>;
  /** Waits until then; no attempt was made. */
  putOff(notice: number, until: Instant): Promise<void>;
  /** `into`, which waits for the same record and target, gets this body, and `notice` is gone. */
  merge(into: number, notice: number, body: string): Promise<void>;
  /** Removes notices that have nothing left to say. */
  drop(notices: readonly number[]): Promise<void>;
  delivered(notice: number, at: Instant): Promise<void>;
  /** One attempt more. `error` is a sentence of ours, without anything the other side said. */
  retryLater(notice: number, nextAt: Instant, error: string): Promise<void>;
  giveUp(notice: number, at: Instant, error: string): Promise<void>;
}

export interface Spacing {
  /** When another notice was delivered or given up, the last time after `since`; null when none was. */
  readonly triedAt: Instant | null;
  /** An earlier one that is still pending. */
  readonly earlier: { readonly notice: number; readonly body: string } | null;
}

/** What came of sending one notice. */
export type Sent =
  | { readonly kind: 'delivered' }
  /** The receiver may take it later; `afterMillis` when it said so. */
  | { readonly kind: 'failed'; readonly why: string; readonly afterMillis?: number }
  /** The receiver will never take this one. */
  | { readonly kind: 'refused'; readonly why: string };

/** Sends to one receiver. Never rejects. */
export type Send = (notice: DueNotice, signal: AbortSignal) => Promise<Sent>;

/** A fetch that follows no redirects: what comes back is what the address itself said. */
export type PostFetch = (
  url: URL,
  init: {
    readonly method: 'POST';
    readonly headers: Record<string, string>;
    readonly body: string;
    readonly signal: AbortSignal;
    readonly redirect: 'manual';
  },
) => Promise<{
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}>;
