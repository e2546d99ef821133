import { expect, test } from 'vitest';
import { type Instant, instantFromMillis } from '../../src/domain/instant.js';
import { noticeWaitMillisMax } from '../../src/outbox/ports.js';
import { type LastNotice, spaced, spacedSince } from '../../src/store/notice-spacing.js';

const now = Date.parse('2026-11-01T00:00:00Z');
const at = (millis: number): Instant => instantFromMillis(now + millis);
const hooks = { fold: (one: string, other: string) => (other === 'undone' ? null : `${one}+${other}`) };
const last = (dueIn: number, over: Partial<LastNotice> = {}): LastNotice => ({
  ...{ notice: 7, body: 'a', state: 'pending', attempts: 0, next_at: at(dueIn), ...over },
});
const insertIn = (millis: number) => ({ kind: 'insert', nextAt: at(millis) });
const fold = { kind: 'fold', notice: 7, body: 'a+b' };

test.each<[string, LastNotice | undefined, object]>([
  ['is sent at once after none', undefined, insertIn(0)],
  ['is folded into one that waits for more than ten seconds', last(10_001), fold],
  ['waits a minute after one that is due in ten seconds', last(10_000), insertIn(70_000)],
  ['waits a minute after one that was attempted', last(20_000, { attempts: 1 }), insertIn(80_000)],
  ['waits a minute after one that was sent', last(-20_000, { state: 'sent' }), insertIn(40_000)],
  ['is folded into one that waits as long as one may', last(noticeWaitMillisMax), fold],
  ['waits a minute after one that can wait no such time', last(noticeWaitMillisMax + 1), insertIn(60_000)],
  ['waits a minute after one that was sent in the future', last(1, { state: 'sent' }), insertIn(60_000)],
])('a notice %s', (_, before, step) => {
  expect(spaced(before, at(0), 'b', hooks)).toEqual(step);
});

test('a waiting notice is deleted when a later change undoes it, or when nothing can fold the two', () => {
  expect(spaced(last(30_000), at(0), 'undone', hooks)).toEqual({ kind: 'delete', notice: 7 });
  expect(spaced(last(30_000), at(0), 'b', undefined)).toEqual({ kind: 'delete', notice: 7 });
});

test('notices of the last minute delay a new one', () => {
  expect(spacedSince(at(0))).toBe(at(-60_000));
});
