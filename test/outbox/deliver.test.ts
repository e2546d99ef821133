import { describe, expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import { type Delivery, deliverDue, startDelivery } from '../../src/outbox/deliver.js';
import type { DueNotice, Send, Sent } from '../../src/outbox/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { seededRandom } from '../../src/runtime/random.js';
import { sqliteConnection } from '../../src/store/connection.js';
import { Outbox } from '../../src/store/outbox.js';
import { freshMirror, StandingClock, seedRow, seedSource } from '../store/support/mirror.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const failed: Sent = { kind: 'failed', why: 'answered 503' };
const delivered: Sent = { kind: 'delivered' };
const never = new AbortController().signal;

/** A real outbox, and receivers with scripted responses. */
function world(notices: number, answers: Record<string, (notice: DueNotice) => Sent | Promise<Sent>>) {
  const clock = new StandingClock();
  const mirror = freshMirror(clock);
  seedSource(mirror, 1);
  const queue = (seq: number, target: string) =>
    seedRow(mirror, 'notice_rows', {
      source_no: 1,
      seq,
      target,
      body: `{"seq":${seq}}`,
      queued_at: new Date(clock.now()).toISOString(),
      next_at: new Date(clock.now()).toISOString(),
    });
  const told: string[] = [];
  const targets = new Map<string, Send>(
    Object.entries(answers).map(([name, answer]) => [
      name,
      async (notice) => {
        told.push(`${name}:${notice.notice}`);
        return answer(notice);
      },
    ]),
  );
  for (const name of Object.keys(answers)) for (let seq = 1; seq <= notices; seq++) queue(seq, name);
  const parts = {
    outbox: new Outbox(sqliteConnection(mirror)),
    targets,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
  };
  const states = () =>
    mirror.raw
      .prepare("SELECT target || ':' || notice || ' ' || state FROM notice_rows ORDER BY notice")
      .pluck()
      .all();
  const column = (name: string) =>
    mirror.raw.prepare(`SELECT ${name} FROM notice_rows ORDER BY notice`).pluck().all();
  return { clock, mirror, told, parts, states, column, queue };
}

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
    const day = 24 * 3_600_000;
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
    clock.advance(2 * 24 * 3_600_000);
    for (let next = await deliverDue(parts, never); next !== null; next = await deliverDue(parts, never))
      clock.advance(Math.max(0, next - clock.now()));
    expect(states()).toEqual(['a:1 delivered']);
  });

  test('notices that waited for a day are given up one by one, with waits, while the receiver is down', async () => {
    const { parts, states, clock, told } = world(3, { a: () => failed });
    clock.advance(2 * 24 * 3_600_000);
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
    const dying = {
      ...parts,
      outbox: Object.assign(Object.create(parts.outbox) as Outbox, {
        delivered: async () => {
          throw new Error('killed');
        },
      }),
    };
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
  const failing = {
    ...parts,
    outbox: Object.assign(Object.create(parts.outbox) as Outbox, {
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
    }),
  };
  const round = deliverDue(failing, never).catch(() => events.push('the round ended'));
  await expect.poll(() => events).toContain('the outbox failed');
  await new Promise(setImmediate);
  respond();
  await round;
  expect(events).toEqual(['the outbox failed', 'notice 1 delivered', 'the round ended']);
});

test('deliver: the loop sends when woken and when a notice is due, and ends while a receiver hangs', async () => {
  const clock = new VirtualClock();
  const base = world(0, {});
  const told: number[] = [];
  let hang = false;
  const answer: Send = (notice, signal) => {
    told.push(notice.notice);
    if (!hang) return Promise.resolve(told.length === 1 ? failed : delivered);
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(failed), { once: true }));
  };
  const parts = { ...base.parts, clock, targets: new Map([['a', answer]]) };
  const at = new Date(clock.now()).toISOString();
  const queue = (seq: number) =>
    seedRow(base.mirror, 'notice_rows', {
      source_no: 1,
      seq,
      target: 'a',
      body: '{}',
      queued_at: at,
      next_at: at,
    });
  const delivery: Delivery = startDelivery(parts);
  await clock.advance(0);
  queue(1);
  delivery.wake();
  await expect.poll(() => told).toEqual([1]);
  await expect.poll(() => base.column('attempts')).toEqual([1]);
  await clock.advance(10_000);
  await expect.poll(() => base.states()).toEqual(['a:1 delivered']);
  hang = true;
  queue(2);
  delivery.wake();
  await expect.poll(() => told).toHaveLength(3);
  await delivery.close();
  expect(base.states()).toEqual(['a:1 delivered', 'a:2 pending']);
});

test('deliver: a receiver gets new notices while another one is busy with its own', async () => {
  let respond = () => {};
  const { parts, told, queue, states } = world(0, {
    busy: () =>
      new Promise((resolve) => {
        respond = () => resolve(delivered);
      }),
    other: () => delivered,
  });
  queue(1, 'busy');
  const delivery = startDelivery({ ...parts, clock: new VirtualClock(parts.clock.now()) });
  await expect.poll(() => told).toEqual(['busy:1']);
  for (const notice of [2, 4]) {
    queue(notice, 'other');
    queue(notice, 'busy');
    delivery.wake();
    await expect.poll(() => told).toContain(`other:${notice}`);
  }
  expect(told).toEqual(['busy:1', 'other:2', 'other:4']);
  respond();
  await expect.poll(() => told).toContain('busy:3');
  respond();
  await expect.poll(() => told).toContain('busy:5');
  respond();
  await expect.poll(() => states().every((state) => `${state}`.endsWith('delivered'))).toBe(true);
  await delivery.close();
  expect(told).toHaveLength(5);
});
