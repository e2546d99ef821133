import { expect, test } from 'vitest';
import { type Delivery, startDelivery } from '../../src/outbox/deliver.js';
import type { Send } from '../../src/outbox/ports.js';
import { seedRow } from '../store/support/mirror.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import { delivered, failed, withOutbox, world } from './deliver-world.js';

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

test('deliver: a notice that another process queued is sent within a minute', async () => {
  const { parts, told, queue } = world(0, { a: () => delivered });
  const clock = new VirtualClock(parts.clock.now());
  const delivery = startDelivery({ ...parts, clock });
  await clock.advance(0);
  queue(1, 'a');
  await clock.advance(59_999);
  expect(told).toEqual([]);
  await clock.advance(1);
  expect(told).toEqual(['a:1']);
  await delivery.close();
});

test('deliver: a receiver whose due notices another process has sent meanwhile is not looked at all the time', async () => {
  const { parts } = world(1, { a: () => delivered });
  const clock = new VirtualClock(parts.clock.now());
  let reads = 0;
  const dueFor = async () => {
    reads += 1;
    if (reads > 10) throw new Error('it never waits');
    return [];
  };
  const delivery = startDelivery({ ...withOutbox(parts, { dueFor }), clock });
  await clock.advance(59_999);
  expect(reads).toBe(1);
  await clock.advance(1);
  expect(reads).toBe(2);
  await delivery.close();
});

test('deliver: a database that is away is logged, also while notices are read, but not during a stop', async () => {
  for (const part of ['waiting', 'dueFor'] as const) {
    const { parts, warned } = world(1, { a: () => delivered });
    const clock = new VirtualClock(parts.clock.now());
    const error = new Error('the database is away');
    let reject = () => {};
    const read = () =>
      new Promise<never>((_, no) => {
        reject = () => no(error);
      });
    const delivery = startDelivery({ ...withOutbox(parts, { [part]: read }), clock });
    await clock.advance(0);
    reject();
    await clock.advance(60_000);
    expect(warned).toEqual([[{ error }, 'notices could not be read or settled']]);
    const closed = delivery.close();
    reject();
    await closed;
    expect(warned).toHaveLength(1);
  }
});

test('deliver: a failure that comes back with each commit is a warning once a minute', async () => {
  const { parts, warned } = world(1, { a: () => delivered });
  const clock = new VirtualClock(parts.clock.now());
  const waiting = async () => {
    throw new Error('another program has the lock');
  };
  const delivery = startDelivery({ ...withOutbox(parts, { waiting }), clock });
  for (let second = 0; second < 90; second += 1) {
    delivery.wake();
    await clock.advance(1_000);
  }
  expect(warned).toHaveLength(2);
  await delivery.close();
});
