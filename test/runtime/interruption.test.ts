import { expect, test } from 'vitest';
import { abortSignalOf, Interrupter } from '../../src/runtime/interruption.js';

test('an abort signal of an interruption is cut with it, before or afterwards, and one that is a signal stays itself', () => {
  const early = new Interrupter();
  early.abort();
  expect(abortSignalOf(early).aborted).toBe(true);
  const late = new Interrupter();
  const signal = abortSignalOf(late);
  expect(signal.aborted).toBe(false);
  late.abort();
  expect(signal.aborted).toBe(true);
  expect(abortSignalOf(signal)).toBe(signal);
});
