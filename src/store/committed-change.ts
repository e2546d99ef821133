import type { SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { ChangeSeen } from '../sync/ports.js';

/** One row of the change feed with what stood there before and after: all a notice may be written from. */
export interface CommittedChange extends ChangeSeen {
  readonly seq: number;
  readonly source: SourceName;
  readonly id: string;
  readonly reason: string | null;
  readonly at: Instant;
  readonly statusBefore: string | null;
  readonly statusAfter: string | null;
  readonly groupBefore: string | null;
  readonly groupAfter: string | null;
}

export interface NoticeDraft {
  readonly seq: number;
  readonly target: string;
  readonly body: string;
}

/** Called inside the transaction, with at most `changesPerCall` changes at a time; what it answers commits with them. */
export type QueueNotices = (changes: readonly CommittedChange[]) => readonly NoticeDraft[];

/** A re-listing may change a million records in one commit; notices are written from a slice at a time. */
export const changesPerCall = 500;
