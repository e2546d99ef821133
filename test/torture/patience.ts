import { systemClock } from '../../src/runtime/clock.js';
import { Violation } from './judge.js';
import type { Life } from './life.js';

/** Longer than a whole command takes, however busy the machine is: from the sources its start alone can take ten seconds. */
const graceMillis = 60_000;

export async function endOf(life: Life): Promise<Awaited<Life['ended']>> {
  const patience = new AbortController();
  const late = systemClock.wait(graceMillis, patience.signal).then(() => {
    if (!patience.signal.aborted)
      throw new Violation(`not ended after ${graceMillis / 1000} s: ${life.printed()}`);
    return life.ended;
  });
  try {
    return await Promise.race([life.ended, late]);
  } finally {
    patience.abort();
  }
}

/** Asked to stop while it is at rest, a daemon ends with 0. */
export async function stopAtRest(life: Life): Promise<void> {
  life.kill('SIGTERM');
  const { code, signal } = await endOf(life);
  if (code !== 0) throw new Violation(`stopped at rest, it ended with ${code ?? signal}: ${life.printed()}`);
  saysItPlainly(life.printed());
}

/** Whatever happened is told in words: no stack trace, no state that nobody expected. */
export function saysItPlainly(printed: string): void {
  if (/^\s+at .+:\d+:\d+/m.test(printed) || printed.includes('does not expect'))
    throw new Violation(`not told in words: ${printed}`);
}

/** Resolves when a daemon follows the platform; throws with what it printed when it does not get there. */
export async function following(life: Life): Promise<void> {
  if (!(await life.ready)) throw new Violation(`the daemon does not start: ${life.printed()}`);
}
