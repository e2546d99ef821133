import type { Clock } from '../runtime/clock.js';

/** Calls `work` with a signal that aborts after `millis` and at nothing else. */
export async function inTime<Result>(
  clock: Clock,
  millis: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const done = new AbortController();
  const late = new AbortController();
  void clock.wait(millis, done.signal).then(() => late.abort());
  try {
    return await work(late.signal);
  } finally {
    done.abort();
  }
}
