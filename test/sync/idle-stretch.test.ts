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

/** Minutes between timed ticks, after each of these. */
function waits(turns: readonly Turn[]): number[] {
  let stretch = watchful;
  return turns.map(({ report, announced = false }) => {
    stretch = afterTick(stretch, report, announced);
    return stretched(stretch, minute, idleMinutes * minute) / minute;
  });
}

const announced: Turn = { report: tick('webhook', 1), announced: true };
const idle: Turn = { report: tick('timer', 0) };

test('without a webhook nothing stretches, however long nothing happens', () => {
  expect(waits([idle, idle, idle])).toEqual([1, 1, 1]);
});

test('while webhooks announce what happens each idle look doubles the wait, up to the idle interval', () => {
  expect(waits([announced, idle, idle, idle, announced])).toEqual([1, 2, 3, 3, 1]);
});

test('a change that nobody announced ends the trust until a webhook earns it again', () => {
  const found: Turn = { report: tick('timer', 1) };
  expect(waits([announced, idle, found, idle, announced, idle])).toEqual([1, 2, 1, 1, 1, 2]);
});

test('an announcement of nothing proves nothing', () => {
  expect(waits([{ report: tick('webhook', 0), announced: true }, idle])).toEqual([1, 1]);
});

test('an announced change counts for the webhook, whatever began the tick', () => {
  expect(waits([{ report: tick('timer', 1), announced: true }, idle])).toEqual([1, 2]);
});

test('what fails ends the trust', () => {
  expect(waits([announced, idle, { report: tick('timer', 0, 'failed') }, idle])).toEqual([1, 2, 1, 1]);
});

test('an idle interval below the usual one changes nothing', () => {
  expect(stretched({ trusted: true, idle: 9 }, minute, 1_000)).toBe(minute);
});
