import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter, unlessAborted } from '../runtime/interruption.js';
import type { ConsoleSource, ProblemSeen, StatusSeen } from './ports.js';

/** A mirror of many sources that can be read takes less. */
const patienceMillis = 2_000;
const lookMillis = 500;

export const isIll = (problems: readonly ProblemSeen[]): boolean =>
  problems.some(({ severity }) => severity === 'ill');

/**
 * Returns the status for a probe, which a supervisor gives up after seconds. A server that went silent may keep a status
 * waiting for a minute: once the daemon knows that it cannot do its work, throws `database_busy` instead.
 */
export function promptStatus(
  source: Pick<ConsoleSource, 'status' | 'problems'>,
  clock: Clock,
): (sourcesMax?: number) => Promise<StatusSeen> {
  return async (sourcesMax) => {
    const read = new Interrupter();
    const givenUp = new Interrupter();
    void untilIll(source, clock, read).then(() => givenUp.abort());
    try {
      const seen = await unlessAborted(givenUp, source.status(sourcesMax));
      if (seen !== null) return seen;
    } finally {
      read.abort();
    }
    throw new Fault('database_busy', 'the database has not answered, and the daemon cannot do its work');
  };
}

async function untilIll(
  source: Pick<ConsoleSource, 'problems'>,
  clock: Clock,
  read: Interrupter,
): Promise<void> {
  await clock.wait(patienceMillis, read);
  while (!read.aborted && !isIll(source.problems())) await clock.wait(lookMillis, read);
}
