import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
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

/** Notices due before it are not in the way of a new one. */
export function spacedSince(at: Instant): Instant {
  return instantFromMillis(millisOf(at) - gapMillis);
}

/**
 * A receiver hears of a record at most once a minute. What comes sooner waits for the minute to end, and what
 * comes while one waits is folded into it, so that nothing is lost. One that may be on its way is never touched.
 */
export function spaced(
  last: LastNotice | undefined,
  at: Instant,
  body: string,
  hooks: Pick<NoticeHooks, 'fold'> | undefined,
): NoticeStep {
  if (last === undefined) return { kind: 'insert', nextAt: at };
  if (last.state !== 'pending' || last.attempts > 0 || last.next_at <= at)
    return { kind: 'insert', nextAt: instantFromMillis(millisOf(last.next_at as Instant) + gapMillis) };
  const folded = hooks?.fold(last.body, body) ?? null;
  return folded === null
    ? { kind: 'delete', notice: last.notice }
    : { kind: 'fold', notice: last.notice, body: folded };
}
