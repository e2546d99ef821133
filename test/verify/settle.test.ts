import { expect, test } from 'vitest';
import type { Drift } from '../../src/verify/receipt.js';
import { type Settled, settle } from '../../src/verify/settle.js';

const missing: Drift = { kind: 'missing', id: 'inv_1' };

/** A mirror whose newest change numbers are `marks`, one after the other. */
function stage(marks: readonly number[], answers: readonly (readonly Drift[])[]) {
  const found: Settled[] = [];
  let looks = 0;
  let asks = 0;
  let ticks = 0;
  const at = <Value>(list: readonly Value[], index: number): Value => {
    const value = list[Math.min(index, list.length - 1)];
    if (value === undefined) throw new Error('the stage is empty');
    return value;
  };
  const run = () =>
    settle(
      {
        stored: {
          mark: async () => at(marks, looks++),
          isUnchangedSince: async (mark) => at(marks, looks++) === mark,
        },
        catchUp: async () => {
          ticks += 1;
          if (ticks > 100) throw new Error('it never ends');
          return null;
        },
        pause: async () => {},
        found: (settled) => found.push(settled),
      },
      async () => at(answers, asks++),
    );
  return { run, found, asked: () => asks, caughtUp: () => ticks };
}

test('settle: equal sides are compared once, without catching up again', async () => {
  const scene = stage([1], [[]]);
  await scene.run();
  expect([scene.found, scene.asked(), scene.caughtUp()]).toEqual([[], 1, 0]);
});

test('settle: a difference in a mirror that did not change is reported after catching up once more', async () => {
  const scene = stage([1], [[missing]]);
  await scene.run();
  expect(scene.found).toEqual([{ drift: [missing], settled: true }]);
  expect([scene.asked(), scene.caughtUp()]).toEqual([1, 1]);
});

test('settle: a difference explained by a change is compared again, and gone', async () => {
  const scene = stage([1, 2], [[missing], []]);
  await scene.run();
  expect(scene.found).toEqual([]);
  expect(scene.asked()).toBe(2);
});

test('settle: a source that changes every time is neither confirmed nor ruled out, after five rounds', async () => {
  const scene = stage([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [[missing]]);
  await scene.run();
  expect(scene.found).toEqual([{ drift: [missing], settled: false }]);
  expect(scene.asked()).toBe(5);
});
