import { expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { Crowd, sharesOf } from '../../src/sync/crowd.js';
import type { LastTick, SharedRequests } from '../../src/sync/ports.js';
import type { SyncOptions } from '../../src/sync/sync.js';
import { settled, VirtualClock } from './support/virtual-clock.js';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Six sources are a crowd: their first ticks and grant checks are more than ten requests. */
const timed = { perHour: 60, atOnce: 10, forWebhooks: 0, neededPerHour: 0 };
const shares: SharedRequests = {
  intervalMillis: 8 * minute,
  idleIntervalMillis: hour,
  grantMillis: hour,
  timed,
};
const limited = { shares: () => shares } as unknown as SyncOptions;

/** Writes down what the crowd asks of the loop of a source. */
function member(name: string, { isIll = false, timedSince = 0, dropsIdentity = false } = {}) {
  const calls: unknown[] = [];
  const loop = {
    isIll,
    timedSince,
    start: (waitMillis?: number) => void calls.push(['start', waitMillis]),
    dueWithin: (...due: readonly unknown[]) => void calls.push(due),
    nudge: () => void calls.push('nudge'),
    recheck: () => void calls.push('recheck'),
  };
  return { calls, loop, source: { identity: { name: name as SourceName, fingerprint: 'f' }, dropsIdentity } };
}

const members = (count: number, make: (no: number) => ReturnType<typeof member> = (no) => member(`s${no}`)) =>
  Array.from({ length: count }, (_, no) => make(no));

interface Given {
  readonly chance?: number;
  readonly lastTicks?: () => Promise<ReadonlyMap<SourceName, LastTick>>;
  readonly sharesNow?: SharedRequests;
  readonly logger?: typeof silentLogger;
}

function crowd({ chance = 0.5, lastTicks, sharesNow = shares, logger = silentLogger }: Given = {}) {
  const clock = new VirtualClock();
  const random = { bytes: () => Buffer.alloc(0), fraction: () => chance };
  const parts = {
    clock,
    random,
    logger,
    options: limited,
    ...(lastTicks === undefined ? {} : { lastTicks }),
  };
  return { clock, crowd: new Crowd(parts, () => sharesNow) };
}

/** Starts a crowd of one described source and others; returns what was asked of the one. */
async function started(
  last: { ageMillis: number; follows: boolean } | undefined,
  given: Given & { drops?: boolean; missedAgo?: number } = {},
) {
  const one = member('one', { dropsIdentity: given.drops === true });
  const w = crowd({
    ...given,
    lastTicks: async () =>
      new Map(
        last === undefined
          ? []
          : [
              [
                one.source.identity.name,
                { endedAt: instantFromMillis(w.clock.now() - last.ageMillis), follows: last.follows },
              ],
            ],
      ),
  });
  if (given.missedAgo !== undefined) {
    w.clock.jump(-given.missedAgo);
    w.crowd.catchUp(members(6).map(({ loop }) => loop));
    w.clock.jump(given.missedAgo);
  }
  w.crowd.start([one], 6);
  await settled();
  expect(one.calls.shift(), 'webhooks start ticks from the beginning').toEqual([
    'start',
    Number.POSITIVE_INFINITY,
  ]);
  expect(one.calls).toHaveLength(1);
  return one.calls[0];
}

test('crowd: without a limit of the address, sources have the configured intervals, and their grant is checked hourly', () => {
  const options = { intervalMillis: minute, idleIntervalMillis: 3 * minute } as unknown as SyncOptions;
  expect(sharesOf(10_000, options)).toEqual({ ...options, grantMillis: hour, timed: null });
});

test.each([
  [5, 'starts, is nudged and is checked again at once, because two requests for each fit into the burst'],
  [6, 'waits for its turn'],
])('crowd: of %i sources, each %s', async (count) => {
  const isCrowd = count > 5;
  const all = members(count, (no) => member(`s${no}`, { isIll: no === 0 }));
  const loops = all.map(({ loop }) => loop);
  const w = crowd();
  w.crowd.start(all, count);
  w.crowd.catchUp(loops);
  w.crowd.recheck(loops, count);
  await settled();
  const due = [0, { lists: false }];
  expect(all.map(({ calls }) => calls)).toEqual(
    all.map((_, no) =>
      isCrowd
        ? [['start', Number.POSITIVE_INFINITY], [0], ...(no === 0 ? ['recheck'] : []), due]
        : [['start', undefined], 'nudge', 'recheck'],
    ),
  );
});

test.each([
  ['that was never read is due now, and lists', undefined, {}, [0, { lists: true }]],
  [
    'that was not listed completely is due now, and lists',
    { ageMillis: minute, follows: false },
    {},
    [0, { lists: true }],
  ],
  [
    'whose tick is dated in the future is due now',
    { ageMillis: -1, follows: true },
    {},
    [0, { lists: false }],
  ],
  [
    'read this moment is due after its interval',
    { ageMillis: 0, follows: true },
    {},
    [8 * minute, { lists: false, grantWaitMillis: hour / 2 }],
  ],
  [
    'read a while ago is due when its interval has passed since',
    { ageMillis: 5 * minute, follows: true },
    {},
    [3 * minute, { lists: false, grantWaitMillis: hour / 2 }],
  ],
  [
    'unread for longer is due since then',
    { ageMillis: hour, follows: true },
    {},
    [-52 * minute, { lists: false, grantWaitMillis: hour / 2 }],
  ],
  [
    'is due up to a quarter of its interval later',
    { ageMillis: 0, follows: true },
    { chance: 1 },
    [10 * minute, { lists: false, grantWaitMillis: hour }],
  ],
  [
    'is due up to a quarter of its interval earlier',
    { ageMillis: 0, follows: true },
    { chance: 0 },
    [6 * minute, { lists: false, grantWaitMillis: 0 }],
  ],
  [
    'that no longer keeps names erases them with its first tick',
    { ageMillis: 0, follows: true },
    { drops: true },
    [8 * minute, { lists: false, grantWaitMillis: 0 }],
  ],
  [
    'read before webhooks were missed is due now',
    { ageMillis: minute + 1, follows: true },
    { missedAgo: minute },
    [0, { lists: false, grantWaitMillis: hour / 2 }],
  ],
  [
    'read since webhooks were missed keeps its interval',
    { ageMillis: minute, follows: true },
    { missedAgo: minute },
    [7 * minute, { lists: false, grantWaitMillis: hour / 2 }],
  ],
  [
    'unread for longer than webhooks were missed is due since then',
    { ageMillis: hour, follows: true },
    { missedAgo: minute },
    [-52 * minute, { lists: false, grantWaitMillis: hour / 2 }],
  ],
] as const)('crowd: at a start, a source %s', async (_, last, given, due) => {
  expect(await started(last, given)).toEqual(due);
});

test('crowd: when the last ticks cannot be read, that is logged, and every source is due now', async () => {
  const warned: unknown[] = [];
  const error = new Error('made up');
  const all = members(6);
  const { crowd: one } = crowd({
    lastTicks: async () => Promise.reject(error),
    logger: { ...silentLogger, warn: (...line: unknown[]) => void warned.push(line) },
  });
  one.start(all, 6);
  await settled();
  for (const { calls } of all) expect(calls[1]).toEqual([0, { lists: false }]);
  expect(warned).toEqual([[{ error }, 'the last ticks could not be read: every source is due now']]);
});

test('crowd: after missed webhooks, the sources that wait longest are due first', () => {
  const order: number[] = [];
  const all = members(6, (no) => member(`s${no}`, { timedSince: (no * 5) % 6 }));
  for (const { loop } of all) loop.dueWithin = () => void order.push(loop.timedSince);
  crowd().crowd.catchUp(all.map(({ loop }) => loop));
  expect(order).toEqual([0, 1, 2, 3, 4, 5]);
});

test('crowd: new secrets have the ill sources checked, ten at once and then one for each request of the hour', async () => {
  const all = members(14, (no) => member(`s${no}`, { isIll: no > 0 }));
  const checked = () => all.filter(({ calls }) => calls.includes('recheck')).length;
  const { clock, crowd: one } = crowd();
  one.recheck(
    all.map(({ loop }) => loop),
    14,
  );
  await settled();
  expect([checked(), all[0]?.calls]).toEqual([10, []]);
  await clock.advance(minute - 1);
  expect(checked()).toBe(10);
  await clock.advance(1);
  expect(checked()).toBe(11);
  await clock.advance(hour);
  expect(checked()).toBe(13);
});

test('crowd: newer secrets, and a stop, end the checks that wait', async () => {
  const all = members(12, (no) => member(`s${no}`, { isIll: true }));
  const loops = all.map(({ loop }) => loop);
  const { clock, crowd: one } = crowd();
  one.recheck(loops, 12);
  await settled();
  one.recheck(loops, 12);
  await clock.advance(minute);
  expect(all.map(({ calls }) => calls.length)).toEqual([...Array(10).fill(2), 1, 0]);
  one.close();
  await clock.advance(hour);
  expect(all.at(-1)?.calls).toEqual([]);
});

test('crowd: a process that works few of many sources checks its ill ones at once', async () => {
  const all = members(12, (no) => member(`s${no}`, { isIll: true }));
  const { crowd: one } = crowd({ sharesNow: { ...shares, timed: null } });
  one.recheck(
    all.map(({ loop }) => loop),
    12,
  );
  await settled();
  expect(all.every(({ calls }) => calls.includes('recheck'))).toBe(true);
});
