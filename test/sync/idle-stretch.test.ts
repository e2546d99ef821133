import { expect, test } from 'vitest';
import { afterTick, stretched, watchful } from '../../src/sync/idle-stretch.js';
import type { TickReport } from '../../src/sync/ports.js';
import { nothingApplied } from '../../src/sync/ports.js';

const minute = 60_000;
const idleMinutes = 3;

function tick(
  trigger: TickReport['trigger'],
  changed: number,
  outcome: TickReport['outcome'] = 'done',
): TickReport {
  const applied = { ...nothingApplied, changed };
  return { trigger, outcome, applied } as TickReport;
}

interface Turn {
  readonly report: TickReport;
  readonly announced?: boolean;
}

/** Returns the minutes between timed ticks after each of these ticks. */
function waits(turns: readonly Turn[]): number[] {
  let stretch = watchful;
  return turns.map(({ report, announced = false }) => {
    stretch = afterTick(stretch, report, announced);
    return stretched(stretch, minute, idleMinutes * minute) / minute;
  });
}

const announced: Turn = { report: tick('webhook', 1), announced: true };
const idle: Turn = { report: tick('timer', 0) };

test('idle stretch: without webhooks the interval never grows, however long nothing happens', () => {
  expect(waits([idle, idle, idle])).toEqual([1, 1, 1]);
});

test('idle stretch: while webhooks announce changes each idle tick doubles the interval, up to the idle interval', () => {
  expect(waits([announced, idle, idle, idle, announced])).toEqual([1, 2, 3, 3, 1]);
});

test('idle stretch: an unannounced change resets the interval until a webhook announces a change again', () => {
  const found: Turn = { report: tick('timer', 1) };
  expect(waits([announced, idle, found, idle, announced, idle])).toEqual([1, 2, 1, 1, 1, 2]);
});

test('idle stretch: a webhook without a change proves nothing', () => {
  expect(waits([{ report: tick('webhook', 0), announced: true }, idle])).toEqual([1, 1]);
});

test('idle stretch: an announced change counts for the webhook, whatever started the tick', () => {
  expect(waits([{ report: tick('timer', 1), announced: true }, idle])).toEqual([1, 2]);
});

test('idle stretch: a tick that a user or a start asked for neither lengthens nor resets the interval', () => {
  const asked: Turn[] = [
    { report: tick('manual', 0) },
    { report: tick('start', 0) },
    { report: tick('manual', 1) },
  ];
  expect(waits([announced, idle, ...asked, idle])).toEqual([1, 2, 2, 2, 2, 3]);
});

test('idle stretch: a failed tick resets the interval', () => {
  expect(waits([announced, idle, { report: tick('timer', 0, 'failed') }, idle])).toEqual([1, 2, 1, 1]);
});

test('idle stretch: an idle interval below the usual one has no effect', () => {
  expect(stretched({ trusted: true, idle: 9 }, minute, 1_000)).toBe(minute);
});
