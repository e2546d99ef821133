import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { WriteGate } from '../../src/daemon/write-gate.js';
import { sqliteFault } from '../../src/store/dialect/sqlite/faults.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

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

/** A gate before a writer whose lock another program holds at first. */
function lockedWriter() {
  const clock = new VirtualClock();
  const lock = { isFree: false, looks: 0, isWaited: true };
  const gate = new WriteGate(clock, undefined, {
    isFree: () => {
      lock.looks += 1;
      return lock.isFree;
    },
    wait: (isWanted) => {
      lock.isWaited = isWanted;
    },
  });
  const calls: string[] = [];
  const writer = gate.guard({
    write: async (text: string) => {
      calls.push(text);
      if (lock.isFree) return calls.length;
      throw sqliteFault(new Sqlite.SqliteError('database is locked', 'SQLITE_BUSY'), 'mirror.db');
    },
  });
  return { clock, gate, lock, writer, calls };
}

test('write gate: a call that met the lock of another program is repeated when the lock is free, and others wait for it', async () => {
  const { clock, gate, lock, writer, calls } = lockedWriter();
  const first = writer.write('a');
  await clock.advance(0);
  expect(gate.isClosed).toBe(true);
  expect(gate.waits).toMatchObject([{ key: 'lock', since: new Date(clock.now()).toISOString() }]);
  const second = writer.write('b');
  await clock.advance(1_000);
  expect(calls).toEqual(['a']);
  lock.isFree = true;
  await clock.advance(100);
  await Promise.all([first, second]);
  expect(calls.toSorted()).toEqual(['a', 'a', 'b']);
  expect(gate.isClosed).toBe(false);
  expect(gate.waits).toEqual([]);
});

test('write gate: calls fail after two seconds with what they meet then, and the lock is looked at until it is free', async () => {
  const { clock, gate, lock, writer, calls } = lockedWriter();
  const busy = { code: 'database_busy', message: 'another program holds the write lock of mirror.db' };
  const first = expect(writer.write('a')).rejects.toMatchObject(busy);
  await clock.advance(1_000);
  const second = expect(writer.write('b')).rejects.toMatchObject(busy);
  await clock.advance(1_000);
  await first;
  await clock.advance(1_000);
  await second;
  expect(calls).toEqual(['a', 'a', 'b']);
  expect(gate.isClosed).toBe(true);
  lock.isFree = true;
  await clock.advance(100);
  expect(gate.isClosed).toBe(false);
  expect(await writer.write('c')).toBe(4);
});

test('write gate: it reports a lock that is free again if calls have failed because of it, every ten seconds at most', async () => {
  const { clock, gate, lock, writer } = lockedWriter();
  const reports: number[] = [];
  const begun = clock.now();
  gate.onFreed(() => reports.push(clock.now() - begun));
  const lockedFor = async (millis: number) => {
    lock.isFree = false;
    const written = writer.write('a').then(
      () => 'written',
      () => 'failed',
    );
    await clock.advance(millis);
    lock.isFree = true;
    await clock.advance(100);
    return await written;
  };
  expect([await lockedFor(1_000), reports]).toEqual(['written', []]);
  expect([await lockedFor(3_000), reports.length]).toEqual(['failed', 1]);
  expect([await lockedFor(3_000), reports.length]).toEqual(['failed', 1]);
  await clock.advance(7_000);
  expect([await lockedFor(3_000), reports.length]).toEqual(['failed', 2]);
  expect(reports[0]).toBeLessThanOrEqual(4_000 + 125);
});

test('write gate: calls do not wait for a lock that is known to be held, nor after they waited for the gate', async () => {
  const { clock, gate, lock } = lockedWriter();
  const waited: boolean[] = [];
  const writer = gate.guard({
    write: async () => {
      waited.push(lock.isWaited);
      if (!lock.isFree)
        throw sqliteFault(new Sqlite.SqliteError('database is locked', 'SQLITE_BUSY'), 'mirror.db');
    },
  });
  const calls = [expect(writer.write()).rejects.toMatchObject({ code: 'database_busy' })];
  await clock.advance(0);
  calls.push(expect(writer.write()).rejects.toMatchObject({ code: 'database_busy' }));
  await clock.advance(2_000);
  await Promise.all(calls);
  expect(waited).toEqual([true, false, false]);
  const last = writer.write();
  lock.isFree = true;
  await clock.advance(100);
  await last;
  await writer.write();
  expect(waited.slice(3)).toEqual([false, true]);
});

test('write gate: in a stop, calls fail after a quarter of a second', async () => {
  const { clock, gate, writer } = lockedWriter();
  gate.meetLock();
  gate.hurry();
  let isRefused = false;
  const refused = expect(writer.write('a'))
    .rejects.toMatchObject({ code: 'database_busy' })
    .then(() => {
      isRefused = true;
    });
  await clock.advance(249);
  expect(isRefused).toBe(false);
  await clock.advance(1);
  await refused;
});

test('write gate: a call that met the lock after more than two seconds of other work is not repeated', async () => {
  const { clock, gate, lock, calls } = lockedWriter();
  const writer = gate.guard({
    write: async () => {
      calls.push('begun');
      await clock.wait(2_000);
      throw sqliteFault(new Sqlite.SqliteError('database is locked', 'SQLITE_BUSY'), 'mirror.db');
    },
  });
  const writing = expect(writer.write()).rejects.toMatchObject({ code: 'database_busy' });
  await clock.advance(2_000);
  await writing;
  lock.isFree = true;
  await clock.advance(4_000);
  expect(calls).toEqual(['begun']);
});

test('write gate: closing it ends the looks at the lock', async () => {
  const { clock, gate, lock, writer } = lockedWriter();
  const refused = expect(writer.write('a')).rejects.toMatchObject({ code: 'database_busy' });
  await clock.advance(50);
  await gate.close();
  const { looks } = lock;
  await clock.advance(2_000);
  await refused;
  expect(lock.looks).toBe(looks);
});

test('write gate: of calls that begin in one turn before the lock is known, only the first waits for it', async () => {
  const { clock, gate, lock } = lockedWriter();
  const waited: boolean[] = [];
  const writer = gate.guard({
    write: async () => {
      waited.push(lock.isWaited);
      if (!lock.isFree)
        throw sqliteFault(new Sqlite.SqliteError('database is locked', 'SQLITE_BUSY'), 'mirror.db');
    },
  });
  const calls = [writer.write(), writer.write(), writer.write()];
  expect(waited).toEqual([true, false, false]);
  lock.isFree = true;
  await clock.advance(100);
  await Promise.all(calls);
  await writer.write();
  expect(waited.slice(3)).toEqual([false, false, false, true]);
});

test('write gate: nothing is kept of calls that waited in vain while the lock stays held', async () => {
  const { gate } = lockedWriter();
  gate.meetLock();
  const impatient = () => gate.opened(Number.POSITIVE_INFINITY, () => 0);
  const heapAfter = async (calls: number) => {
    for (let call = 0; call < calls; call += 1) await impatient();
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await heapAfter(1_000);
  expect((await heapAfter(30_000)) - before).toBeLessThan(2_000_000);
  expect(gate.isClosed).toBe(true);
});

test('write gate: a lock that is free again is noticed between the commits of a child process', async () => {
  const { clock, gate, lock } = lockedWriter();
  gate.meetLock();
  lock.isFree = true;
  // As often as the gate looks: each of its looks would find the child process writing.
  for (let commit = 0; commit < 20; commit += 1) {
    const writing = gate.closedFor('totals', () => clock.wait(20));
    await clock.advance(20);
    await writing;
    await clock.advance(5);
  }
  expect(gate.waits).toEqual([]);
});
