import { systemClock } from '../../src/runtime/clock.js';

const triesMax = 10;

/**
 * The platform runs in this process, so a failed connection only means that the process was too busy. Repeating
 * the request is harmless: a change made twice is two changes.
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
