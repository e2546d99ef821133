import { expect, test } from 'vitest';
import { WriteGate } from '../../src/daemon/write-gate.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

class Writer {
  readonly #written: string[] = [];
  async write(text: string): Promise<number> {
    return this.#written.push(text);
  }
}

test('write gate: writers wait while it is closed, and a writer with a timeout fails with database_busy', async () => {
  const clock = new VirtualClock();
  const gate = new WriteGate(clock);
  const patient = gate.guard(new Writer());
  const hasty = gate.guard(new Writer(), 5_000);
  let open: () => void = () => {};
  const work = gate.closedFor(
    'rewrite',
    () =>
      new Promise<void>((resolve) => {
        open = resolve;
      }),
  );
  let written = 0;
  const waiting = patient.write('a').then((count) => {
    written = count;
  });
  const refused = expect(hasty.write('b')).rejects.toMatchObject({ code: 'database_busy' });
  await clock.advance(5_000);
  await refused;
  expect(written).toBe(0);
  open();
  await work;
  await waiting;
  expect(written).toBe(1);
  expect(await hasty.write('c')).toBe(1);
});

test('write gate: it opens again after the work failed', async () => {
  const gate = new WriteGate(new VirtualClock());
  const failing = gate.closedFor('rewrite', () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  expect(await gate.guard(new Writer()).write('a')).toBe(1);
});

test('write gate: works that close it run one after the other, and a writer waits for one of them at most', async () => {
  const clock = new VirtualClock();
  const gate = new WriteGate(clock);
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} begins`);
    await null;
    await null;
    order.push(`${name} ends`);
  };
  const works = [gate.closedFor('rewrite', work('a')), gate.closedFor('rewrite', work('b'))];
  const writing = gate
    .guard(new Writer())
    .write('x')
    .then(() => order.push('write'));
  await writing;
  await clock.advance(100);
  await Promise.all(works);
  expect(order).toEqual(['a begins', 'a ends', 'write', 'b begins', 'b ends']);
  expect(gate.isClosed).toBe(false);
});

test('write gate: it stays open for a while after work that calls waited for, and no longer otherwise', async () => {
  const clock = new VirtualClock();
  const gate = new WriteGate(clock);
  await gate.closedThenOpenFor('index', async () => {});
  const writer = gate.guard(new Writer());
  let isOver = false;
  let written = 0;
  const work = gate.closedThenOpenFor('index', () => new Promise((resolve) => setImmediate(resolve)));
  const over = work.then(() => {
    isOver = true;
  });
  await writer.write('a').then((count) => {
    written = count;
  });
  await new Promise(setImmediate);
  expect([written, isOver, gate.isClosed]).toEqual([1, false, false]);
  await clock.advance(100);
  await over;
});

test('write gate: what must happen before it opens happens after failed work too, while calls still wait', async () => {
  const order: string[] = [];
  const gate = new WriteGate(new VirtualClock(), async () => {
    await null;
    order.push('before opening');
  });
  const failing = gate.closedFor('rewrite', () => Promise.reject(new Error('no')));
  const writing = gate
    .guard(new Writer())
    .write('x')
    .then(() => order.push('write'));
  await expect(failing).rejects.toThrow('no');
  await writing;
  expect(order).toEqual(['before opening', 'write']);
});

test('write gate: it says what it is closed for and since when, of works one after the other', async () => {
  const clock = new VirtualClock();
  const gate = new WriteGate(clock);
  const ends: (() => void)[] = [];
  const work = () =>
    new Promise<void>((resolve) => {
      ends.push(resolve);
    });
  const seen = () => gate.waits.map(({ key, since }) => [key, Date.parse(since) - begun]);
  const begun = clock.now();
  expect(gate.waits).toEqual([]);
  const works = [gate.closedFor('rewrite', work), gate.closedFor('index', work)];
  await clock.advance(60_000);
  expect(seen()).toEqual([['rewrite', 0]]);
  ends[0]?.();
  await works[0];
  await clock.advance(0);
  expect(seen()).toEqual([['index', 60_000]]);
  ends[1]?.();
  await works[1];
  expect(gate.waits).toEqual([]);
});
