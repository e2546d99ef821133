import { expect, test } from 'vitest';
import { type FileScheduleParts, startFileSchedule } from '../../src/daemon/file-schedule.js';
import { Fault } from '../../src/domain/fault.js';
import { HealthRegister } from '../../src/runtime/health-register.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const hour = 3_600_000;
const start = Date.parse('2026-11-01T00:00:00Z');

/** Schedules exports by a daemon that leads, one a day where `parts` say nothing else. */
function scheduledExport(
  parts: Pick<FileScheduleParts, 'newestAt' | 'make' | 'tend'> &
    Partial<Pick<FileScheduleParts, 'everyMillis' | 'isFilled' | 'logger'>>,
) {
  const clock = new VirtualClock(start);
  const register = new HealthRegister();
  const schedule = startFileSchedule({
    ...{ key: 'export', name: 'export', everyMillis: 24 * hour, clock, logger: silentLogger, register },
    leads: () => true,
    isLed: () => false,
    isFilled: async () => true,
    ...parts,
  });
  return { clock, register, schedule };
}

test('scheduled files: a path that the system refuses is named', async () => {
  const { clock, register, schedule } = scheduledExport({
    newestAt: () => {
      throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES', path: '/srv/exports' });
    },
    make: async () => {},
  });
  await clock.advance(60_000);
  expect(register.list()).toMatchObject([
    { key: 'export', text: 'the scheduled export failed: /srv/exports cannot be used (EACCES)' },
  ]);
  await schedule.close();
});

test.each<[string, Error, { hint?: string }]>([
  ['without a path', Object.assign(new Error('x'), { code: 'EACCES' }), { hint: 'the log has the cause' }],
  ['of a bug', new TypeError('x'), { hint: 'the log has the cause' }],
  ['with words of its own', new Fault('database_full', 'no room'), {}],
])(
  'scheduled files: the log has an error %s, and a hint where it says nothing by itself',
  async (_, error, hint) => {
    const warned: object[] = [];
    const { clock, register, schedule } = scheduledExport({
      logger: { ...silentLogger, warn: (fields) => void warned.push(fields) },
      newestAt: () => null,
      make: async () => {
        throw error;
      },
    });
    await clock.advance(1_000);
    expect(warned).toEqual([{ error, ...hint }]);
    const why = hint.hint ?? error.message;
    expect(register.list()).toMatchObject([{ text: `the scheduled export failed: ${why}` }]);
    await schedule.close();
  },
);

test.each([
  ['make', 24 * hour, [0, 5, 15, 35, 75, 135, 195]],
  ['tend', 24 * hour, [0, 5, 15, 35, 75, 135, 195]],
  ['make', 60_000, [0, 1, 3, 7, 15, 31, 63, 123, 183]],
] as const)(
  'scheduled files: what fails (%s) is tried again after five minutes or the interval (%i ms), then after twice as long each time, up to an hour',
  async (failing, everyMillis, expected) => {
    const minutes: number[] = [];
    const fail = async () => {
      await null;
      minutes.push((clock.now() - start) / 60_000);
      throw new Fault('database_full', 'no room');
    };
    const { clock, schedule } = scheduledExport({
      everyMillis,
      newestAt: () => (failing === 'make' ? null : clock.now()),
      make: fail,
      tend: failing === 'make' ? [] : [fail],
    });
    await clock.advance(4 * hour);
    expect(minutes).toEqual(expected);
    await schedule.close();
  },
);

test('scheduled files: a mirror whose first listing is not complete is looked at each minute', async () => {
  const looked: number[] = [];
  const { clock, schedule } = scheduledExport({
    newestAt: () => null,
    make: async () => {},
    isFilled: async () => {
      looked.push(clock.now() - start);
      return false;
    },
  });
  await clock.advance(150_000);
  expect(looked).toEqual([0, 60_000, 120_000]);
  await schedule.close();
});

test.each([
  [60_000, 0],
  [60_001, 1],
])('scheduled files: with one that is dated %i ms ahead, %i are made at once', async (ahead, expected) => {
  let made = 0;
  const { clock, schedule } = scheduledExport({
    newestAt: () => start + (made === 0 ? ahead : 0),
    make: async () => {
      made += 1;
    },
  });
  await clock.advance(0);
  expect(made).toBe(expected);
  await schedule.close();
});

test('scheduled files: a daemon that stops while it cares for the files makes none', async () => {
  let made = 0;
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const { clock, schedule } = scheduledExport({
    newestAt: () => null,
    make: async () => {
      made += 1;
    },
    tend: [() => held],
  });
  await clock.advance(0);
  const closed = schedule.close();
  go();
  await closed;
  expect(made).toBe(0);
});

test('scheduled files: a look that failed is not reported for as long as the newest file is recent', async () => {
  const state = { away: false, newest: start, made: 0 };
  const { clock, register, schedule } = scheduledExport({
    newestAt: () => state.newest,
    make: async () => {
      if (state.away) throw new Fault('database_full', 'no room for the export');
      state.newest = clock.now();
      state.made += 1;
    },
    tend: [
      async () => {
        if (state.away)
          throw new Fault('database_busy', 'the database cannot be reached', { hint: 'Start it.' });
      },
    ],
  });
  await clock.advance(hour);
  state.away = true;
  await clock.advance(60_000);
  expect(register.list()).toMatchObject([
    { key: 'export', text: 'the scheduled export failed: the database cannot be reached (Start it.)' },
  ]);
  state.away = false;
  await clock.advance(6 * 60_000);
  expect([register.list(), state.made]).toEqual([[], 0]);
  await schedule.close();
});

test('scheduled files: one that cannot be deleted neither keeps nor delays further deletions and the next exports', async () => {
  const state = { newest: start, made: 0, isDeletable: false, deletions: 0 };
  const { clock, register, schedule } = scheduledExport({
    everyMillis: hour / 4,
    newestAt: () => state.newest,
    make: async () => {
      state.newest = clock.now();
      state.made += 1;
    },
    tend: [
      async () => {
        if (!state.isDeletable) throw new Fault('usage', 'exports cannot be deleted: outdated (EACCES)');
      },
      async () => {
        state.deletions += 1;
      },
    ],
  });
  await clock.advance(6 * hour);
  expect(state.made).toBe(24);
  expect(state.deletions).toBeGreaterThan(24);
  expect(register.list()).toMatchObject([
    { text: 'the scheduled export failed: exports cannot be deleted: outdated (EACCES)' },
  ]);
  state.isDeletable = true;
  await clock.advance(hour);
  expect(register.list()).toEqual([]);
  await schedule.close();
});

test('scheduled files: an export that failed is reported until one succeeds, although a recent one is there', async () => {
  const state = { newest: start - 24 * hour };
  const { clock, register, schedule } = scheduledExport({
    newestAt: () => state.newest,
    make: async () => {
      const isFirst = state.newest < start;
      state.newest = clock.now();
      // It was written, and the oldest one could not be deleted.
      if (isFirst) throw new Fault('usage', 'the oldest export cannot be deleted');
    },
  });
  await clock.advance(hour);
  expect(register.list()).toHaveLength(1);
  await clock.advance(24 * hour);
  expect(register.list()).toEqual([]);
  await schedule.close();
});
