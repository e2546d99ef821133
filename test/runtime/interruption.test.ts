import { expect, test } from 'vitest';
import { abortSignalOf, Interrupter } from '../../src/runtime/interruption.js';

test('abortSignalOf returns a signal that aborts with the interruption, and returns an AbortSignal unchanged', () => {
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
