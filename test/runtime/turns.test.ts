import { expect, test } from 'vitest';
import { Turns } from '../../src/runtime/turns.js';

test('turns: no more works than allowed run at once, each starts in its order, and a failed one gives its turn back', async () => {
  const turns = new Turns(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const works = [0, 1, 2, 3, 4].map((number) =>
    turns.take(async () => {
      begun.push(number);
      await new Promise<void>((resolve) => {
        ends[number] = resolve;
      });
      if (number === 1) throw new Error('failed');
      return number;
    }),
  );
  const settled = Promise.allSettled(works);
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual([0, 1]);
  for (const number of [1, 0, 3, 2, 4]) {
    ends[number]?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  expect((await settled).map(({ status }) => status)).toEqual([
    ...['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  ]);
});
