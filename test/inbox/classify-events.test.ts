import { expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import { classifyEvents } from '../../src/inbox/classify-events.js';
import type { PendingEvent } from '../../src/inbox/ports.js';

const now = Date.parse('2026-05-01T12:00:00.000Z');
const at = (seconds: number) => new Date(now + seconds * 1_000).toISOString() as Instant;
const day = 86_400;

const event: PendingEvent = { no: 1, observedAt: null, receivedAt: at(-9), attempts: 0, nextAt: null };
const judged = (some: Partial<PendingEvent>, startedAt = at(-1)) => {
  const { worked, late, exhausted } = classifyEvents(
    [{ ...event, ...some }],
    [{ startedAt, publishedThrough: at(-5) }],
    at(0),
    0,
  );
  return [worked.length, late.length, exhausted.length];
};

test('classify events: an event stored under a clock forty days ahead gets another attempt, and the next tick works it', () => {
  expect(judged({}), 'an ordinary one').toEqual([1, 0, 0]);
  expect(judged({ receivedAt: at(40 * day) })).toEqual([0, 1, 0]);
  const putOff = { receivedAt: at(40 * day), attempts: 1, nextAt: at(-3) };
  expect(judged(putOff, at(-4)), 'a tick from before that look').toEqual([0, 0, 0]);
  expect(judged(putOff, at(-2))).toEqual([1, 0, 0]);
});

test('classify events: an attempt scheduled later than the longest wait and a minute between two clocks is due now', () => {
  const unseen = { observedAt: at(-4), attempts: 1 };
  expect(judged({ ...unseen, nextAt: at(1_860) })).toEqual([0, 0, 0]);
  expect(judged({ ...unseen, nextAt: at(1_860.001) })).toEqual([0, 1, 0]);
});

test('classify events: an event stored by a clock up to a minute ahead waits for a tick that begins after it', () => {
  expect(judged({ receivedAt: at(60) })).toEqual([0, 0, 0]);
  expect(judged({ receivedAt: at(60.001) }), 'no clock is so far ahead that is right').toEqual([0, 1, 0]);
});
