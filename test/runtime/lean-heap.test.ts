import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { mayGrow } from '../../src/runtime/lean-heap.js';

const megabytes = 1024 * 1024;

test('lean heap: the space for new objects grows until it has 8 MB, and again after it shrank', () => {
  expect([0, 7, 8, 64, 4].map((size) => mayGrow(size * megabytes))).toEqual([true, true, false, false, true]);
});

/** Keeps objects for a while, as a long burst of requests does; prints the sizes that V8's heap reached, in MB. */
const burst = (lean: boolean) => `
  import { getHeapStatistics } from 'node:v8';
  import { keepHeapLean, newSpaceSize } from ${JSON.stringify(new URL('../../src/runtime/lean-heap.ts', import.meta.url).href)};
  if (${lean}) keepHeapLean(1);
  const kept = [];
  let newSpace = 0;
  let heap = 0;
  for (let turn = 0; turn < 200; turn += 1) {
    for (let index = 0; index < 10_000; index += 1) kept[(turn * 10_000 + index) % 200_000] = { turn, text: 'a' + index };
    await new Promise((resolve) => setTimeout(resolve, 1));
    newSpace = Math.max(newSpace, newSpaceSize());
    heap = Math.max(heap, getHeapStatistics().total_heap_size);
  }
  console.log(JSON.stringify([newSpace / ${megabytes}, heap / ${megabytes}]));
`;

function sizesAfter(script: string): [newSpace: number, heap: number] {
  const args = ['--import', 'tsx', '--input-type=module', '-e', script];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('lean heap: a burst leaves the space for new objects below 64 MB and the heap near what is in use', () => {
  const [newSpace, heap] = sizesAfter(burst(true));
  expect(newSpace).toBeLessThan(64);
  expect(heap).toBeLessThan(160);
});
