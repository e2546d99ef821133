import type { Instant } from '../domain/instant.js';

/**
 * The longest wait for the next attempt. A notice that seems to wait longer was scheduled under a clock that was
 * ahead, and is due now: otherwise it could wait as long as the clock was wrong.
 */
export const noticeWaitMillisMax = 2 * 3_600_000;

export interface DueNotice {
  readonly notice: number;
  readonly source: string;
  readonly target: string;
  /** JSON with ids, amounts and names of companies and rounds, never of people. */
  readonly body: string;
  readonly queuedAt: Instant;
  readonly attempts: number;
}

/** A notice, and the body that it had when it was read. */
export type ReadNotice = Pick<DueNotice, 'notice' | 'body'>;

/** Notices as queued by the commits they report. Throws `database_busy`, `database_full`, `database_unusable`. */
export interface Outbox {
  /** Returns due notices of one target, in the order of their changes. */
  dueFor(target: string, now: Instant, max: number): Promise<readonly DueNotice[]>;
  /** Returns the targets with pending notices, and when the first is due. */
  waiting(): Promise<readonly { readonly target: string; readonly dueAt: Instant }[]>;
  /** Returns what is known of other notices about the same record to the same target. */
  about(notice: number, since: Instant, until: Instant): Promise<Spacing>;
  /** Postpones the notice without counting an attempt. */
  putOff(notice: number, until: Instant): Promise<void>;
  /**
   * Gives `into`, which waits for the same record and target, this body and deletes `later`. Does nothing when a commit has given
   * `later` another body since it was read.
   */
  merge(into: number, later: ReadNotice, body: string): Promise<void>;
  /** Deletes both notices, which have nothing left to report. Does nothing when `later` has another body by now. */
  drop(earlier: number, later: ReadNotice): Promise<void>;
  /**
   * Counts an attempt that begins now. Returns the body to send, or null for a notice that is gone. No later change is
   * merged into this notice, whatever the clock of the process that commits it.
   */
  begin(notice: number): Promise<string | null>;
  delivered(notice: number, at: Instant): Promise<void>;
  /** `error` is our own text and quotes nothing from the receiver. */
  retryLater(notice: number, nextAt: Instant, error: string): Promise<void>;
  giveUp(notice: number, at: Instant, error: string): Promise<void>;
}

export interface Spacing {
  /** When another notice was last delivered or given up after `since`, and not after `until`; else null. */
  readonly triedAt: Instant | null;
  /** An earlier notice that is pending and was never sent. */
  readonly earlier: { readonly notice: number; readonly body: string } | null;
}

export type AlertKind =
  | 'halted'
  | 'held'
  | 'stale'
  | 'failing'
  | 'quarantine'
  | 'endpoint_disabled'
  | 'quota_exhausted'
  | 'backup_failed'
  | 'hook_failed'
  | 'export_failed'
  | 'lake_failed'
  | 'disk_low';

/** Something that an operator must know and that is the case now. */
export interface Condition {
  readonly kind: AlertKind;
  /** Null for a condition of the whole daemon. */
  readonly source: string | null;
  /** One sentence with what to do; never a name of a person or a secret. */
  readonly text: string;
}

/** A condition that was reported and not resolved yet. `goneSince` is set while it is absent. */
export interface OpenAlert extends Condition {
  readonly key: string;
  readonly since: Instant;
  readonly goneSince: Instant | null;
}

/** Result of sending one notice. */
export type Sent =
  | { readonly kind: 'delivered' }
  /** A later attempt may succeed; `afterMillis` when the receiver said when. */
  | { readonly kind: 'failed'; readonly why: string; readonly afterMillis?: number }
  /** The receiver will never accept this notice. */
  | { readonly kind: 'refused'; readonly why: string };

/** Sends a notice to one receiver. Never rejects. */
export type Send = (notice: DueNotice, signal: AbortSignal) => Promise<Sent>;

/** A fetch that does not follow redirects: the response comes from the address itself. */
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

/** What changed in a source. Its field names are part of the message of after-sync hooks, a public contract. */
export interface SourceChanges {
  readonly source: string;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Whether a first listing became visible. Its records are not counted one by one. */
  readonly listed: boolean;
  /** Changes of companies, rounds and posts. */
  readonly catalog: number;
  /** Investments of the source now. */
  readonly rows: number;
  /** Until which time its rows are complete; null before the first listing. */
  readonly complete_up_to: string | null;
  /** When the cursor was last stored; null while there is none. */
  readonly cursor_saved_at: string | null;
}

/** The message of a run that was not settled yet. */
export interface AfterSyncMessage {
  readonly body: string;
  readonly lastSeq: number;
  readonly queuedAt: Instant;
  readonly nextAt: Instant;
  readonly attempts: number;
}

export interface AfterSyncState {
  /** Changes up to this number were reported by a successful run, or were there before the hook. */
  readonly doneSeq: number;
  /** Changes up to this number do not start another run. */
  readonly triedSeq: number;
  readonly message: AfterSyncMessage | null;
  /** Why the last run failed; null when it succeeded. */
  readonly lastError: string | null;
}

/** A message that is due at once. */
export interface QueuedMessage {
  readonly body: string;
  readonly lastSeq: number;
  readonly at: Instant;
}

/** The state of after-sync hooks. Throws `database_busy`, `database_full`, `database_unusable`. */
export interface AfterSyncStore {
  /** Returns the state of a hook. A hook that is new begins after the newest change. */
  state(hook: string): Promise<AfterSyncState>;
  /** Returns when the first change after `seq` was committed, or null when there is none. */
  firstChange(seq: number, sources: readonly string[] | null): Promise<Instant | null>;
  /** Returns the changes after `seq`, by source. */
  changesAfter(seq: number, sources: readonly string[] | null): Promise<readonly SourceChanges[]>;
  /** Stores a message. Returns false, and stores nothing, when the state is not `before` any more. */
  queue(hook: string, before: AfterSyncState, message: QueuedMessage): Promise<boolean>;
  /** Settles a run of this message. This and the next two change nothing when another message is stored by now. */
  succeeded(hook: string, message: AfterSyncMessage, at: Instant): Promise<void>;
  /** Counts one more attempt. `error` is our own text and quotes nothing from the receiver. */
  retryLater(
    hook: string,
    message: AfterSyncMessage,
    at: Instant,
    nextAt: Instant,
    error: string,
  ): Promise<void>;
  /** Drops the message; its changes are reported by the next run. */
  giveUp(hook: string, message: AfterSyncMessage, at: Instant, error: string): Promise<void>;
}
