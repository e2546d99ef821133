import { expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { Interrupter } from '../../src/runtime/interruption.js';

const week = 7 * 86_400_000;

test('a wait of any length ends after its time or as soon as it is interrupted', async () => {
  const from = performance.now();
  await systemClock.wait(20);
  expect(performance.now() - from).toBeGreaterThan(15);
  for (const [signal, abort] of [interrupter(), controller()]) {
    const waiting = systemClock.wait(10 * week, signal);
    abort();
    await waiting;
    await systemClock.wait(week, signal);
  }
  await systemClock.wait(0);
});

test('an interrupter calls each listener once, and no removed listener', () => {
  const told: string[] = [];
  const bell = new Interrupter();
  const gone = () => told.push('gone');
  bell.addEventListener('abort', () => told.push('first'));
  bell.addEventListener('abort', gone);
  bell.removeEventListener('abort', gone);
  bell.abort();
  bell.abort();
  expect([told, bell.aborted]).toEqual([['first'], true]);
});

function interrupter() {
  const bell = new Interrupter();
  return [bell, () => bell.abort()] as const;
}

function controller() {
  const it = new AbortController();
  return [it.signal, () => it.abort()] as const;
}
