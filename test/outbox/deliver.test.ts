import { describe, expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import { decideNotices } from '../../src/outbox/decide-notices.js';
import { deliverDue } from '../../src/outbox/deliver.js';
import type { Sent } from '../../src/outbox/ports.js';
import { seedRow } from '../store/support/mirror.js';
import { delivered, failed, never, withOutbox, world } from './deliver-world.js';
import { change } from './samples.js';

const day = 24 * 3_600_000;
const minute = 60_000;

describe('deliver: one round', () => {
  test('a round notifies each receiver in the order of changes and marks the notices delivered', async () => {
    const { parts, told, states } = world(3, { a: () => delivered });
    expect(await deliverDue(parts, never)).toBeNull();
    expect(told).toEqual(['a:1', 'a:2', 'a:3']);
    expect(states()).toEqual(['a:1 delivered', 'a:2 delivered', 'a:3 delivered']);
    await deliverDue(parts, never);
    expect(told).toHaveLength(3);
  });

  test('a round delivers more notices than fit into one batch', async () => {
    const { parts, told } = world(501, { a: () => delivered });
    await deliverDue(parts, never);
    expect(new Set(told).size).toBe(501);
  });

  test('a receiver that is down gets one request per wait and does not delay others', async () => {
    const { parts, told, clock } = world(3, { down: () => failed, up: () => delivered });
    const nextAt = (await deliverDue(parts, never)) ?? 0;
    expect(told.filter((one) => one.startsWith('down'))).toEqual(['down:1']);
    expect(told.filter((one) => one.startsWith('up'))).toHaveLength(3);
    expect(nextAt - clock.now()).toBeGreaterThanOrEqual(2_500);
    await deliverDue(parts, never);
    expect(told.filter((one) => one.startsWith('down'))).toHaveLength(1);
    clock.advance(nextAt - clock.now());
    await deliverDue(parts, never);
    expect(told.filter((one) => one.startsWith('down'))).toEqual(['down:1', 'down:1']);
  });

  test('a receiver that sends Retry-After is not contacted before', async () => {
    const { parts, clock } = world(1, { a: () => ({ ...failed, afterMillis: 1_800_000 }) });
    expect(await deliverDue(parts, never)).toBe(clock.now() + 1_800_000);
  });

  test('a rejected notice is given up and does not delay the next', async () => {
    const { parts, states, column } = world(2, {
      a: ({ notice }) => (notice === 1 ? { kind: 'refused', why: 'answered 400' } : delivered),
    });
    await deliverDue(parts, never);
    expect(states()).toEqual(['a:1 given_up', 'a:2 delivered']);
    expect(column('last_error')).toEqual(['answered 400', null]);
  });

  test('a notice is given up after a day, with a bounded number of attempts', async () => {
    const { parts, states, clock, told } = world(1, { a: () => failed });
    for (let next = await deliverDue(parts, never); next !== null; next = await deliverDue(parts, never))
      clock.advance(Math.max(0, next - clock.now()));
    expect(states()).toEqual(['a:1 given_up']);
    expect(told.length).toBeGreaterThan(20);
    expect(told.length).toBeLessThan(1_000);
  });

  test('a notice that an operator sends again is sent at once, and does not wait for the attempt of a later one', async () => {
    let isDown = true;
    const { parts, told, states, clock } = world(3, {
      a: ({ notice }) =>
        notice === 1 && isDown ? { kind: 'refused', why: 'answered 410' } : isDown ? failed : delivered,
    });
    await deliverDue(parts, never);
    expect([told, states()[0]]).toEqual([['a:1', 'a:2'], 'a:1 given_up']);
    isDown = false;
    expect(await parts.outbox.resend(1, new Date(clock.now()).toISOString() as Instant)).toBe(true);
    await deliverDue(parts, never);
    expect(told.slice(2)).toEqual(['a:1', 'a:2', 'a:3']);
  });

  test('notices that waited for a day are not given up when the receiver limits its rate', async () => {
    let limits = 1;
    const { parts, states, clock, told } = world(3, {
      a: () => (limits-- > 0 ? { ...failed, afterMillis: 30_000 } : delivered),
    });
    clock.advance(2 * day);
    for (let next = await deliverDue(parts, never); next !== null; next = await deliverDue(parts, never))
      clock.advance(Math.max(0, next - clock.now()));
    expect(states()).toEqual(['a:1 delivered', 'a:2 delivered', 'a:3 delivered']);
    expect(told).toEqual(['a:1', 'a:1', 'a:2', 'a:3']);
  });

  test('a notice whose attempt was interrupted by a stop of a day is not given up by its next failure', async () => {
    let failures = 1;
    const { parts, states, clock } = world(1, { a: () => (failures-- > 0 ? failed : delivered) });
    await parts.outbox.begin(1);
    clock.advance(2 * day);
    for (let next = await deliverDue(parts, never); next !== null; next = await deliverDue(parts, never))
      clock.advance(Math.max(0, next - clock.now()));
    expect(states()).toEqual(['a:1 delivered']);
  });

  test('notices that waited for a day are given up one by one, with waits, while the receiver is down', async () => {
    const { parts, states, clock, told } = world(3, { a: () => failed });
    clock.advance(2 * day);
    const rounds: number[] = [];
    for (let next = await deliverDue(parts, never); next !== null; next = await deliverDue(parts, never)) {
      rounds.push(told.length);
      clock.advance(Math.max(0, next - clock.now()));
    }
    expect(states()).toEqual(['a:1 given_up', 'a:2 given_up', 'a:3 given_up']);
    expect(rounds).toEqual([1, 2, 4, 5, 7, 8]);
  });

  test('notices to a receiver that is no longer configured are given up', async () => {
    const { parts, states, queue } = world(0, {});
    queue(1, 'former');
    await deliverDue(parts, never);
    expect(states()).toEqual(['former:1 given_up']);
  });
});

describe('deliver: times', () => {
  test.each([
    ['all of it', 1 - 2 ** -32, [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]],
    ['the minimum', 0, Array<number>(10).fill(2.5)],
  ])(
    'a receiver that is down is asked again after growing waits of up to 15 minutes, %s with this jitter',
    async (_, fraction, seconds) => {
      const { parts, clock } = world(1, { a: () => failed });
      const random = { ...parts.random, fraction: () => fraction };
      const waits: number[] = [];
      while (waits.length < seconds.length) {
        const next = (await deliverDue({ ...parts, random }, never)) ?? 0;
        waits.push((next - clock.now()) / 1000);
        clock.advance(next - clock.now());
      }
      expect(waits).toEqual(seconds);
    },
  );

  test.each([
    ['of a day', day, 'a:1 given_up'],
    ['that lacks a millisecond to a day', day - 1, 'a:1 pending'],
  ])('a notice %s whose third attempt fails', async (_, age, state) => {
    const { parts, states, clock } = world(1, { a: () => ({ ...failed, afterMillis: minute }) });
    const queuedAt = clock.now();
    for (const at of [0, 10 * minute, age]) {
      clock.advance(queuedAt + at - clock.now());
      await deliverDue(parts, never);
    }
    expect(states()).toEqual([state]);
  });

  test('a notice that waits for more than two hours was scheduled under a wrong clock and is sent now', async () => {
    for (const [ahead, sent] of [
      [2 * 60 * minute, []],
      [2 * 60 * minute + 1, ['a:1']],
    ] as const) {
      const { parts, told, clock } = world(1, { a: () => delivered });
      clock.advance(-ahead);
      await deliverDue(parts, never);
      expect(told).toEqual(sent);
    }
  });
});

describe('deliver: notices about one record', () => {
  /** A notice about a change that was delivered, and others that wait. */
  async function recordWorld(...statuses: readonly string[]) {
    const base = world(0, { a: () => delivered });
    const { mirror, parts, queue } = base;
    for (const [index, statusAfter] of statuses.entries()) {
      const seq = index + 1;
      seedRow(mirror, 'change_rows', { source_no: 1, seq, id: 'inv_1', kind: 'changed', at: '2026' });
      const changed = change({ seq, statusBefore: statuses[index - 1] ?? 'approved', statusAfter });
      const [draft] = decideNotices([changed], [{ name: 'a', rules: {} }]);
      queue(seq, 'a', draft?.body);
      if (index === 0) await deliverDue(parts, never);
    }
    return base;
  }

  test('the second of two notices is sent a minute after the first, not earlier', async () => {
    const { parts, told, clock } = await recordWorld('active', 'executed');
    const sentAt = clock.now();
    expect(await deliverDue(parts, never)).toBe(sentAt + minute);
    clock.advance(minute - 1);
    await deliverDue(parts, never);
    expect(told).toEqual(['a:1']);
    clock.advance(1);
    await deliverDue(parts, never);
    expect(told).toEqual(['a:1', 'a:2']);
  });

  test('a notice that becomes due a minute after the previous one is sent at once', async () => {
    const { parts, told, clock } = await recordWorld('active', 'executed');
    clock.advance(minute);
    await deliverDue(parts, never);
    expect(told).toEqual(['a:1', 'a:2']);
  });

  test('notices that wait for the same minute become one, from the first state to the last', async () => {
    const { parts, states, column } = await recordWorld('active', 'executed', 'canceled');
    await deliverDue(parts, never);
    expect(states()).toEqual(['a:1 delivered', 'a:2 pending']);
    expect(JSON.parse(`${column('body')[1]}`)).toMatchObject({
      seq: 3,
      text: 'acme: investment inv_1: status active → canceled',
    });
  });

  test('notices that wait for the same minute and cancel out are not sent', async () => {
    const { parts, states } = await recordWorld('active', 'executed', 'active');
    expect(await deliverDue(parts, never)).toBeNull();
    expect(states()).toEqual(['a:1 delivered']);
  });
});

test('deliver: a notice that is deleted after it was read is not sent', async () => {
  const { parts, told, mirror } = world(2, {
    a: () => {
      mirror.raw.prepare('DELETE FROM notice_rows WHERE notice = 2').run();
      return delivered;
    },
  });
  await deliverDue(parts, never);
  expect(told).toEqual(['a:1']);
});

test('deliver: a failed attempt is logged with its number and the reason, a delivery is not', async () => {
  let answer: Sent = failed;
  const { parts, warned, clock } = world(1, { a: () => answer });
  await deliverDue(parts, never);
  clock.advance(minute);
  await deliverDue(parts, never);
  const entry = (attempt: number) => [
    { endpoint: 'a', attempt, hint: 'answered 503' },
    'a notice was not delivered',
  ];
  expect(warned).toEqual([entry(1), entry(2)]);
  answer = delivered;
  clock.advance(minute);
  expect(await deliverDue(parts, never)).toBeNull();
  expect(warned).toHaveLength(2);
});

describe('deliver: a stop during an attempt', () => {
  /** Stops while the only notice is being sent. */
  async function stoppedDuring(answer: Sent) {
    const stopping = new AbortController();
    const base = world(1, {
      a: () => {
        stopping.abort();
        return answer;
      },
    });
    await deliverDue(base.parts, stopping.signal);
    return base;
  }

  test('a notice that the receiver accepted is settled', async () => {
    const { states } = await stoppedDuring(delivered);
    expect(states()).toEqual(['a:1 delivered']);
  });

  test('a notice that may not have arrived is due at once after the next start, without a failure', async () => {
    const { parts, column, warned, clock } = await stoppedDuring(failed);
    expect([column('last_error'), warned]).toEqual([[null], []]);
    expect(await deliverDue(parts, AbortSignal.abort())).toBe(clock.now());
  });
});

describe('deliver: crashes', () => {
  test('a crash between commit and delivery loses and repeats no notice', async () => {
    const { parts, told } = world(2, { a: () => delivered });
    const stopped = AbortSignal.abort();
    await deliverDue(parts, stopped);
    expect(told).toEqual([]);
    await deliverDue(parts, never);
    expect(told).toEqual(['a:1', 'a:2']);
  });

  test('a crash between delivery and its record sends the notice again, and only then', async () => {
    const { parts, told } = world(2, { a: () => delivered });
    const dying = withOutbox(parts, {
      delivered: async () => {
        throw new Error('killed');
      },
    });
    await expect(deliverDue(dying, never)).rejects.toThrow('killed');
    await deliverDue(parts, never);
    expect(told).toEqual(['a:1', 'a:1', 'a:2']);
  });
});

test('deliver: a round whose outbox fails for one receiver ends after the requests to the others', async () => {
  const events: string[] = [];
  let respond = () => {};
  const { parts } = world(1, {
    slow: () =>
      new Promise((resolve) => {
        respond = () => resolve(delivered);
      }),
    other: () => delivered,
  });
  const failing = withOutbox(parts, {
    begin: async (notice: number) => {
      const body = await parts.outbox.begin(notice);
      if (notice !== 2) return body;
      events.push('the outbox failed');
      throw new Error('the database is away');
    },
    delivered: async (notice: number, at: Instant) => {
      events.push(`notice ${notice} delivered`);
      await parts.outbox.delivered(notice, at);
    },
  });
  const round = deliverDue(failing, never).catch(() => events.push('the round ended'));
  await expect.poll(() => events).toContain('the outbox failed');
  await new Promise(setImmediate);
  respond();
  await round;
  expect(events).toEqual(['the outbox failed', 'notice 1 delivered', 'the round ended']);
});
