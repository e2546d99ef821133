import { isFault } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthRegister } from '../runtime/health-register.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';

export interface FileScheduleParts {
  /** Key in the health register. */
  readonly key: string;
  /** As messages call it: `backup` for "the scheduled backup failed". */
  readonly name: string;
  readonly everyMillis: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly register: HealthRegister;
  /** Whether this daemon does the work: in a fleet, the leader does. */
  leads(): boolean;
  /** Whether the mirror has anything to write: a first listing is complete. */
  isFilled(): Promise<boolean>;
  /** When the newest result was made, from the files themselves; null before the first. */
  newestAt(): number | null;
  make(signal: AbortSignal): Promise<void>;
  /** Cares for the files of this host, every minute and on every member of a fleet. Each is tried, also after a failure. */
  readonly tend?: readonly ((signal: AbortSignal) => Promise<void>)[];
}

const lookMillis = 60_000;
/** A failure is retried with growing waits, up to this one. */
const retryMillisMin = 5 * 60_000;
const retryMillisMax = 60 * 60_000;

/**
 * Makes files of the mirror on a schedule. The newest one says when the next one is due, so restarts change nothing. A
 * failure stays in the health register until one succeeds. A failure of a look at the files alone, such as a database that is
 * away for a moment, stays until the next look.
 */
export function startFileSchedule(parts: FileScheduleParts): Closable {
  const { key, name, everyMillis, clock, logger, register } = parts;
  const stopping = new AbortController();
  let failures = 0;
  let retryAt = Number.NEGATIVE_INFINITY;
  /** Whether one is being made, or the last attempt to make one failed. */
  let isMaking = false;

  const untilDue = (): number => {
    const newest = parts.newestAt();
    if (newest === null) return 0;
    const age = clock.now() - newest;
    // One from the future was named by a clock that was ahead.
    return age < -lookMillis ? 0 : Math.max(0, everyMillis - age);
  };

  const makeIfDue = async (): Promise<number> => {
    if (!parts.leads()) {
      isMaking = false;
      return lookMillis;
    }
    const wait = untilDue();
    if (wait > 0) return Math.min(wait, lookMillis);
    if (!(await parts.isFilled())) return lookMillis;
    isMaking = true;
    await parts.make(stopping.signal);
    isMaking = false;
    return lookMillis;
  };

  const look = async (): Promise<number> => {
    const retryWait = retryAt - clock.monotonic();
    if (retryWait > 0) return Math.min(retryWait, lookMillis);
    let isTended = true;
    for (const tend of parts.tend ?? [])
      try {
        await tend(stopping.signal);
      } catch (error) {
        isTended = false;
        failed(error);
      }
    if (stopping.signal.aborted) return 0;
    const wait = await makeIfDue();
    if (isTended && !isMaking) succeeded();
    return wait;
  };

  const succeeded = () => {
    failures = 0;
    register.clear(key);
  };

  const failed = (error: unknown) => {
    // A signal that stops the daemon may end its child process first. Otherwise, the next look makes the files.
    if (stopping.signal.aborted || isFault(error, 'stopped')) return;
    const why = isFault(error) ? error.message : 'the log has the cause';
    register.report(key, {
      severity: 'attention',
      text: `the scheduled ${name} failed: ${why}`,
      since: instantFromMillis(clock.now()),
    });
    logger.warn({ error }, `the scheduled ${name} failed and will be retried`);
    retryAt = clock.monotonic() + Math.min(retryMillisMax, retryMillisMin * 2 ** Math.min(failures, 10));
    failures += 1;
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      let wait = lookMillis;
      try {
        wait = await look();
      } catch (error) {
        failed(error);
      }
      await clock.wait(wait, stopping.signal);
    }
  };
  const running = run();
  return {
    close: async () => {
      stopping.abort();
      await running;
    },
  };
}
