import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import { noticeWaitMillisMax } from '../outbox/ports.js';
import type { NoticeHooks } from './committed-change.js';

/** The last notice about a record to one target, if it is less than a minute old. */
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
/** A notice that is due so soon is sent soon: a later change gets a notice of its own. */
const commitMillisMax = 10_000;

/** Returns the start of the spacing window: notices due before it do not delay a new one. */
export function spacedSince(at: Instant): Instant {
  return instantFromMillis(millisOf(at) - gapMillis);
}

/**
 * Limits notices about one record to one per minute and target. A notice that comes sooner waits for the minute to end.
 * Further changes are folded into the waiting notice, so none is lost. A notice that was attempted, or is being sent, is
 * never changed. Its attempts tell, not its time: the sender may be a host with another clock. Delivery checks the spacing
 * again (`outbox/deliver.ts`), because attempts for an earlier notice may take long.
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

/**
 * Returns when the last notice was or is due. An impossible time was written under a clock that was ahead: it counts as
 * now.
 */
function lastDue({ state, next_at }: LastNotice, at: Instant): number {
  const now = millisOf(at);
  const due = millisOf(next_at as Instant);
  const latest = state === 'pending' ? now + noticeWaitMillisMax : now;
  return due > latest ? now : due;
}
