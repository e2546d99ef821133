import { expect, test } from 'vitest';
import { BodyBuffer } from '../../src/runtime/body-buffer.js';

/** Adds these chunks and returns the body, the number of buffers that were made for it, and their bytes. */
function collected(chunks: readonly string[]) {
  const kept: number[] = [];
  const body = new BodyBuffer((bytes) => void kept.push(bytes));
  for (const chunk of chunks) expect(body.add(Buffer.from(chunk), 1_000)).toBe(true);
  return {
    text: body.whole().toString(),
    buffers: kept.length,
    bytes: kept.reduce((sum, one) => sum + one, 0),
  };
}

test('a body that arrives at once is kept as it is', () => {
  expect(collected(['{"id":1}'])).toEqual({ text: '{"id":1}', buffers: 1, bytes: 8 });
  expect(collected([])).toEqual({ text: '', buffers: 0, bytes: 0 });
});

test('a body that arrives byte by byte is kept in one buffer of at most twice its size', () => {
  const text = 'abcdefghij'.repeat(100);
  const { buffers, bytes, ...whole } = collected([...text]);
  expect(whole).toEqual({ text });
  expect(bytes).toBeLessThanOrEqual(2 * text.length);
  expect(buffers).toBeLessThanOrEqual(11);
});

test('a chunk that makes the body larger than the limit is not kept', () => {
  const kept: number[] = [];
  const body = new BodyBuffer((bytes) => void kept.push(bytes));
  expect(body.add(Buffer.alloc(600), 1_000)).toBe(true);
  expect(body.add(Buffer.alloc(401), 1_000)).toBe(false);
  expect(kept).toEqual([600]);
});
