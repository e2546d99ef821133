import { systemClock } from '../../src/runtime/clock.js';

const triesMax = 10;

/**
 * The platform runs in this very process, so a connection that fails says only that nobody had a turn in time. Asking
 * twice harms nothing: a change made twice is two changes.
 */
export async function askPlatform(url: URL | string, init: RequestInit = {}): Promise<Response> {
  for (let tries = 1; ; tries += 1)
    try {
      return await fetch(url, init);
    } catch (error) {
      if (tries === triesMax) throw error;
      await systemClock.wait(100 * tries);
    }
}
