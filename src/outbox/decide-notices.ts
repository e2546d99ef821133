import type { Cents } from '../domain/money.js';
import { hasDifference, type Notice, noticeOf } from './notice.js';

/** A committed change as notices use it: the row before and after, never the event. */
export interface ChangeToReport {
  readonly kind: 'snapshot' | 'added' | 'changed' | 'removed';
  readonly seq: number;
  readonly source: string;
  readonly id: string;
  readonly at: string;
  readonly fields: readonly string[];
  readonly reason: string | null;
  readonly origin: 'feed' | 'listing';
  readonly statusBefore: string | null;
  readonly statusAfter: string | null;
  readonly groupBefore: string | null;
  readonly groupAfter: string | null;
  readonly committedCentsBefore: Cents | null;
  readonly committedCentsAfter: Cents | null;
  readonly companyId: string | null;
  readonly offeringId: string | null;
  /** Before the change; null of a new record. */
  readonly currencyBefore: string | null;
  /** After the change; of a removed record, its last one. */
  readonly currency: string | null;
  readonly convertedFrom: string | null;
}

export interface Rules {
  readonly sources?: readonly string[] | undefined;
  readonly kinds?: readonly ('added' | 'changed' | 'removed')[] | undefined;
  readonly fields?: readonly string[] | undefined;
  readonly statuses?: readonly string[] | undefined;
  readonly minCommittedCents?: number | undefined;
}

export interface Draft {
  readonly id: string;
  readonly seq: number;
  readonly target: string;
  readonly body: string;
}

/** Returns what the company and the round of a change are called. */
export type NamesOf = (change: Pick<ChangeToReport, 'source' | 'companyId' | 'offeringId'>) => {
  readonly company: string | null;
  readonly round: string | null;
};

const nameless: NamesOf = () => ({ company: null, round: null });

/** Returns the notices to queue for changes that are being committed, per receiver. Pure function. */
export function decideNotices(
  changes: readonly ChangeToReport[],
  receivers: readonly { readonly name: string; readonly rules: Rules }[],
  namesOf: NamesOf = nameless,
): readonly Draft[] {
  return changes.filter(isReportable).flatMap((change) => {
    const body = JSON.stringify(noticeFrom(change, namesOf(change)));
    return receivers
      .filter(({ rules }) => isWanted(change, rules))
      .map(({ name }) => ({ id: change.id, seq: change.seq, target: name, body }));
  });
}

/**
 * Merges two notices into one, from the state before the first to the state after the second. Returns null when that
 * is no difference.
 */
export function foldNotices(earlier: string, later: string): string | null {
  const first = JSON.parse(earlier) as Notice;
  const last = JSON.parse(later) as Notice;
  const { type: _type, text: _text, ...content } = last;
  const folded = {
    ...content,
    // A notice of an earlier version has one currency for both states.
    before: first.before === null ? null : { currency: first.currency, ...first.before },
    converted_from: last.converted_from ?? first.converted_from,
  };
  // A record that came and went, also by a conversion, was and is nothing to its receiver.
  if (folded.before === null && folded.after === null) return null;
  return hasDifference(folded) || folded.converted_from !== null ? JSON.stringify(noticeOf(folded)) : null;
}

/** The platform derived the record again: nothing happened to the investment. */
const derivedAgain: ReadonlySet<string | null> = new Set(['recomputed', 'reprojected']);

/**
 * Returns whether a change is worth a notice: new and removed records, conversions, and a change of status, group or
 * commitment. Shares, escrow, blockers, messages and profiles change without a notice.
 */
function isReportable(change: ChangeToReport): boolean {
  if (change.kind === 'snapshot') return false;
  if (change.kind === 'removed') return true;
  // A record in a listing has the reason of its last publication, which may be unrelated to the difference found
  // here.
  if (change.origin === 'feed' && derivedAgain.has(change.reason)) return false;
  return isConversion(change) || hasDifference(statesOf(change));
}

const isConversion = ({ kind, fields, convertedFrom }: ChangeToReport) =>
  convertedFrom !== null && (kind === 'added' || fields.includes('converted_from'));

/** Returns whether the change matches all rules that are set. */
function isWanted(change: ChangeToReport, rules: Rules): boolean {
  const { sources, kinds, fields, statuses, minCommittedCents: least } = rules;
  const { kind, statusBefore, statusAfter, committedCentsBefore: was, committedCentsAfter: is } = change;
  if (sources !== undefined && !sources.includes(change.source)) return false;
  if (kinds !== undefined && !kinds.some((wanted) => wanted === kind)) return false;
  if (fields !== undefined && kind === 'changed' && !change.fields.some((field) => fields.includes(field)))
    return false;
  if (
    statuses !== undefined &&
    ![statusBefore, statusAfter].some((status) => status !== null && statuses.includes(status))
  )
    return false;
  return (
    least === undefined || Math.max(was ?? Number.NEGATIVE_INFINITY, is ?? Number.NEGATIVE_INFINITY) >= least
  );
}

function statesOf(change: ChangeToReport): Pick<Notice, 'before' | 'after'> {
  const before = {
    status: change.statusBefore,
    group_label: change.groupBefore,
    committed_cents: change.committedCentsBefore,
    currency: change.currencyBefore,
  };
  const after = {
    status: change.statusAfter,
    group_label: change.groupAfter,
    committed_cents: change.committedCentsAfter,
    currency: change.currency,
  };
  return {
    before: change.kind === 'added' ? null : before,
    after: change.kind === 'removed' ? null : after,
  };
}

function noticeFrom(change: ChangeToReport, names: ReturnType<NamesOf>): Notice {
  return noticeOf({
    source: change.source,
    id: change.id,
    seq: change.seq,
    at: change.at,
    company_id: change.companyId,
    offering_id: change.offeringId,
    company_name: names.company,
    round_name: names.round,
    currency: change.currency,
    converted_from: isConversion(change) ? change.convertedFrom : null,
    ...statesOf(change),
  });
}
