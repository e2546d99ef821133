import type { SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { ChangeSeen } from '../sync/ports.js';
import type { Held, RecordItem } from './plan-page.js';

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
  readonly companyId: string | null;
  readonly offeringId: string | null;
  readonly currency: string | null;
  /** After the change. */
  readonly convertedFrom: string | null;
  /** A listing's record says how it was published last; it does not say what made it differ from ours. */
  readonly origin: 'feed' | 'listing';
}

export interface NoticeDraft {
  /** Record it tells of. */
  readonly id: string;
  readonly seq: number;
  readonly target: string;
  readonly body: string;
}

/** Called inside the transaction; what they answer commits with the changes. */
export interface NoticeHooks {
  /** Is given at most `changesPerCall` changes at a time. */
  draft(changes: readonly CommittedChange[]): readonly NoticeDraft[];
  /** One body out of two for the same record and target; null when together they say nothing. */
  fold(earlier: string, later: string): string | null;
}

/** A re-listing may change a million records in one commit; notices are written from a slice at a time. */
export const changesPerCall = 500;

/** What the mirror's owner decides about every commit. */
export interface CommitHooks {
  readonly notices?: NoticeHooks | undefined;
  readonly identity: 'keep' | 'drop';
}

/** A change of the feed as notices see it: what stood there before, and the record that came. */
export function changeOf(
  kind: CommittedChange['kind'],
  held: Held | null,
  record: RecordItem | null,
  told: Pick<CommittedChange, 'seq' | 'fields' | 'reason' | 'at'> & { readonly source: string },
): CommittedChange {
  const before = held?.investment ?? null;
  const after = record?.investment ?? null;
  const latest = after ?? before;
  if (latest === null) throw new Error('a change without a record before or after it');
  return {
    ...told,
    kind,
    source: told.source as SourceName,
    id: latest.id,
    statusBefore: before?.status ?? null,
    statusAfter: after?.status ?? null,
    groupBefore: before?.group_label ?? null,
    groupAfter: after?.group_label ?? null,
    committedCentsBefore: before?.committed_cents ?? null,
    committedCentsAfter: after?.committed_cents ?? null,
    companyId: latest.company_id,
    offeringId: latest.offering_id,
    currency: latest.currency,
    convertedFrom: after?.converted_from ?? null,
    origin: 'feed',
  };
}
