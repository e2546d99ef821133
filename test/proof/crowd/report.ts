import { systemClock } from '../../../src/runtime/clock.js';

export const say = (text: string) => void process.stdout.write(`${text}\n`);
export const seconds = (millis: number) => `${(millis / 1_000).toFixed(1)} s`;
export const count = (value: number) => value.toLocaleString('en-US');

/** Returns a quantile of the values, 0 without any. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Returns the real milliseconds that the work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = systemClock.monotonic();
  await work();
  return systemClock.monotonic() - begun;
}
