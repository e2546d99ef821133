import type { SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { ChangeSeen } from '../sync/ports.js';
import type { RecordItem } from './page-facts.js';
import type { StoredVersion } from './plan-page.js';

/** One row of the change feed with its values before and after. A notice is built from nothing else. */
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
  readonly companyId: string | null;
  readonly offeringId: string | null;
  readonly currencyBefore: string | null;
  readonly currency: string | null;
  /** After the change. */
  readonly convertedFrom: string | null;
  /** `reason` on a record from a listing explains its latest publication, not why it differs from the stored row. */
  readonly origin: 'feed' | 'listing';
}

export interface NoticeDraft {
  /** Id of the record that changed. */
  readonly id: string;
  readonly seq: number;
  readonly target: string;
  readonly body: string;
}

/** Called inside the transaction. The notices they return commit together with the changes. */
export interface NoticeHooks {
  /** Receives at most `changesPerCall` changes per call. */
  draft(changes: readonly CommittedChange[]): readonly NoticeDraft[];
  /** Merges two bodies for the same record and target. Returns null when the changes cancel out. */
  fold(earlier: string, later: string): string | null;
}

/** A re-listing may change a million records in one commit, so notices are drafted in batches. */
export const changesPerCall = 500;

/** Settings that apply to every commit. */
export interface CommitHooks {
  readonly notices?: NoticeHooks | undefined;
  readonly identity: 'keep' | 'drop';
}

/**
 * Returns a change of the feed as notices see it, from the stored row and the incoming record. Throws when both are
 * null.
 */
export function changeOf(
  kind: CommittedChange['kind'],
  stored: StoredVersion | null,
  record: RecordItem | null,
  change: Pick<CommittedChange, 'seq' | 'fields' | 'reason' | 'at'> & { readonly source: string },
): CommittedChange {
  const before = stored?.investment ?? null;
  const after = record?.investment ?? null;
  const latest = after ?? before;
  if (latest === null) throw new Error('a change without a record before or after it');
  return {
    ...change,
    kind,
    source: change.source as SourceName,
    id: latest.id,
    statusBefore: before?.status ?? null,
    statusAfter: after?.status ?? null,
    groupBefore: before?.group_label ?? null,
    groupAfter: after?.group_label ?? null,
    committedCentsBefore: before?.committed_cents ?? null,
    committedCentsAfter: after?.committed_cents ?? null,
    companyId: latest.company_id,
    offeringId: latest.offering_id,
    currencyBefore: before?.currency ?? null,
    currency: latest.currency,
    convertedFrom: after?.converted_from ?? null,
    origin: 'feed',
  };
}
