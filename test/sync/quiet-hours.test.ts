import { expect, test } from 'vitest';
import { createSync } from '../../src/sync/create-sync.js';
import { decide, tickStart } from '../../src/sync/decide.js';
import { quietUntil } from '../../src/sync/quiet-hours.js';
import { MemoryMirror } from './support/memory-mirror.js';
import { acme, partsOf, sourceOf } from './support/parts.js';
import { Truth } from './support/truth.js';
import { VirtualClock } from './support/virtual-clock.js';

const at = (text: string) => Date.parse(text);
const day = { from: 8 * 60, to: 18 * 60, timeZone: 'UTC' };
const night = { from: 22 * 60, to: 6 * 60, timeZone: 'UTC' };

test.each([
  ['none are set', null, '2026-11-02T12:00:00Z', null],
  ['before they begin', day, '2026-11-02T07:59:59Z', null],
  ['when they begin', day, '2026-11-02T08:00:00Z', '2026-11-02T18:00:00.000Z'],
  ['in their last second', day, '2026-11-02T17:59:59Z', '2026-11-02T18:00:00.000Z'],
  ['when they end', day, '2026-11-02T18:00:00Z', null],
  ['over midnight, in the evening', night, '2026-11-02T23:30:00Z', '2026-11-03T06:00:00.000Z'],
  ['over midnight, in the morning', night, '2026-11-03T05:59:00Z', '2026-11-03T06:00:00.000Z'],
  ['over midnight, at noon', night, '2026-11-03T12:00:00Z', null],
  [
    'in another time zone',
    { ...day, timeZone: 'Asia/Kolkata' },
    '2026-11-02T02:30:00Z',
    '2026-11-02T12:30:00.000Z',
  ],
  [
    'in summer time',
    { ...day, timeZone: 'Europe/Berlin' },
    '2026-07-01T06:00:00Z',
    '2026-07-01T16:00:00.000Z',
  ],
  [
    'in the night in which clocks are set forward',
    { ...night, timeZone: 'Europe/Berlin' },
    '2026-03-29T00:30:00Z',
    '2026-03-29T04:00:00.000Z',
  ],
  [
    'in that night, after the change',
    { ...night, timeZone: 'Europe/Berlin' },
    '2026-03-29T01:00:00Z',
    '2026-03-29T04:00:00.000Z',
  ],
  [
    'in the night in which clocks are set back',
    { ...night, timeZone: 'Europe/Berlin' },
    '2026-10-24T20:00:00Z',
    '2026-10-25T05:00:00.000Z',
  ],
  [
    'whose end is skipped by the clocks: when they are set',
    { from: 22 * 60, to: 2 * 60 + 30, timeZone: 'Europe/Berlin' },
    '2026-03-29T00:30:00Z',
    '2026-03-29T01:00:00.000Z',
  ],
  [
    'whose end at midnight is skipped by the clocks: when they are set',
    { from: 20 * 60, to: 0, timeZone: 'Asia/Beirut' },
    '2026-03-28T20:00:00Z',
    '2026-03-28T22:00:00.000Z',
  ],
  [
    'where clocks change by half an hour',
    { ...night, timeZone: 'Australia/Lord_Howe' },
    '2026-10-03T12:00:00Z',
    '2026-10-03T19:00:00.000Z',
  ],
])('quiet hours, %s: end at %#', (_, quiet, now, until) => {
  expect(quietUntil(quiet, at(now))).toBe(until);
});

test('during quiet hours a source follows its feed but begins no listing for names', () => {
  const phase = {
    kind: 'following',
    cursor: 'c1' as never,
    listed: { at: '2026-10-01T00:00:00.000Z' as never, restarts: 0 },
    namesIncomplete: true,
  } as const;
  const first = (quiet: typeof day | null, now: string) =>
    decide(tickStart(phase, { quiet }), { kind: 'tick_asked', trigger: 'timer' }, at(now)).effects[0]?.kind;
  expect(first(day, '2026-11-02T12:00:00Z')).toBe('fetch');
  expect(first(day, '2026-11-02T19:00:00Z')).toBe('begin_listing');
  expect(first(null, '2026-11-02T12:00:00Z')).toBe('begin_listing');
});

test('an empty source begins its first listing after the quiet hours', () => {
  const [first] = decide(
    tickStart({ kind: 'empty' }, { quiet: day }),
    { kind: 'tick_asked', trigger: 'timer' },
    at('2026-11-02T12:00:00Z'),
  ).effects;
  expect(first).toMatchObject({
    kind: 'finish',
    end: { outcome: 'waiting', retryAt: '2026-11-02T18:00:00.000Z' },
  });
});

test('a first listing stops at the beginning of the quiet hours, continues behind its pages, and ignores them when asked', async () => {
  const clock = new VirtualClock(at('2026-11-02T07:59:00Z'));
  const truth = new Truth(() => clock.now());
  for (let number = 1; number <= 40; number += 1) truth.publish(number, 1);
  const parts = partsOf(new MemoryMirror(() => clock.now()), clock);
  let pages = 0;
  const feed = {
    page: async (position: Parameters<typeof truth.page>[0]) => {
      pages += 1;
      if (pages === 2) clock.jump(60_000);
      return await truth.page(position);
    },
  };
  const options = {
    ...parts.options,
    intervalMillis: 60_000,
    idleIntervalMillis: 60_000,
    concurrency: 1,
    quiet: day,
  };
  const sync = createSync({ ...parts, sources: [sourceOf(feed)], options });
  const ticks: (string | null)[] = [];
  sync.onTick(
    (_, { report }) => void ticks.push(`${report.outcome} ${report.pages} ${report.retryAt ?? ''}`.trim()),
  );
  sync.start();
  await clock.advance(0);
  expect(ticks).toEqual([expect.stringMatching(/^waiting \d 2026-11-02T18:00:00\.000Z$/)]);
  const before = pages;
  await clock.advance(8 * 3_600_000);
  expect(pages).toBe(before);
  const asked = await sync.tick(acme);
  expect(asked.report.outcome).toBe('done');
  await sync.close();
});
