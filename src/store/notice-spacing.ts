import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import { noticeWaitMillisMax } from '../outbox/ports.js';
import type { NoticeHooks } from './committed-change.js';

/** The last notice about a record to one target, as long as it is not a minute old. */
export interface LastNotice {
  readonly notice: number;
  readonly body: string;
  readonly state: string;
  readonly attempts: number;
  readonly next_at: string;
}

export type NoticeStep =
  | { readonly kind: 'insert'; readonly nextAt: Instant }
  | { readonly kind: 'fold'; readonly notice: number; readonly body: string }
  | { readonly kind: 'delete'; readonly notice: number };

const gapMillis = 60_000;
/** A commit may be this much later than its clock: what falls due meanwhile may be on its way. */
const commitMillisMax = 10_000;

/** Notices due before it are not in the way of a new one. */
export function spacedSince(at: Instant): Instant {
  return instantFromMillis(millisOf(at) - gapMillis);
}

/**
 * A receiver hears of a record at most once a minute. What comes sooner waits for the minute to end, and what
 * comes while one waits is folded into it, so that nothing is lost. One that may be on its way is never touched.
 * Its delivery has the last word (`outbox/deliver.ts`), since attempts at the one before it may take long.
 */
export function spaced(
  last: LastNotice | undefined,
  at: Instant,
  body: string,
  hooks: Pick<NoticeHooks, 'fold'> | undefined,
): NoticeStep {
  if (last === undefined) return { kind: 'insert', nextAt: at };
  const due = lastDue(last, at);
  if (last.state !== 'pending' || last.attempts > 0 || due <= millisOf(at) + commitMillisMax)
    return { kind: 'insert', nextAt: instantFromMillis(due + gapMillis) };
  const folded = hooks?.fold(last.body, body) ?? null;
  return folded === null
    ? { kind: 'delete', notice: last.notice }
    : { kind: 'fold', notice: last.notice, body: folded };
}

/** When the last one was or is due; a time that cannot be was told by a clock that was ahead, and counts as now. */
function lastDue({ state, next_at }: LastNotice, at: Instant): number {
  const now = millisOf(at);
  const due = millisOf(next_at as Instant);
  const latest = state === 'pending' ? now + noticeWaitMillisMax : now;
  return due > latest ? now : due;
}
