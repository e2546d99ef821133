import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { abortSignalOf, Interrupter, unlessAborted } from '../../src/runtime/interruption.js';

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

test('unlessAborted returns the result of work, or null at an abort, and leaves no listener behind', async () => {
  const stopping = new AbortController();
  const { signal } = stopping;
  expect(await unlessAborted(signal, Promise.resolve(7))).toBe(7);
  await expect(unlessAborted(signal, Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  let fail = (_: Error) => {};
  const waiting = unlessAborted(signal, new Promise((_, reject) => (fail = reject)));
  stopping.abort();
  expect(await waiting).toBe(null);
  // Nobody hears of it, and it is no unhandled rejection.
  fail(new Error('too late'));
  expect(await unlessAborted(signal, new Promise(() => {}))).toBe(null);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
