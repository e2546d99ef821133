import { type Fault, isFault } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthProblem, HealthRegister } from '../runtime/health-register.js';
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
  /** Whether another daemon is known to lead. */
  isLed(): boolean;
  /** Whether the mirror has anything to write: a first listing is complete. */
  isFilled(): Promise<boolean>;
  /** When the newest result was made, from the files themselves; null before the first. */
  newestAt(): number | null;
  make(signal: AbortSignal): Promise<void>;
  /**
   * Cares for the files of this host: every minute, on every member of a fleet, and after one was made. Each is tried, also after
   * a failure.
   */
  readonly tend?: readonly ((signal: AbortSignal) => Promise<void>)[];
}

const lookMillis = 60_000;
/** A failure is retried with growing waits: the first one lasts this long, or an interval if that is shorter. */
const retryMillisMin = 5 * 60_000;
const retryMillisMax = 60 * 60_000;

/** What is tried again after failures, with growing waits. */
interface Effort {
  failures: number;
  retryAt: number;
  /** Why it fails now; null while it succeeds. */
  problem: HealthProblem | null;
}

const newEffort = (): Effort => ({ failures: 0, retryAt: Number.NEGATIVE_INFINITY, problem: null });

/** Returns the path and the code of an error of the system, such as of a folder that this user may not read; else null. */
function systemReason(error: unknown): string | null {
  const { code, path } = Object(error) as NodeJS.ErrnoException;
  return typeof code === 'string' && typeof path === 'string' ? `${path} cannot be used (${code})` : null;
}

/**
 * Makes files of the mirror on a schedule. The newest one says when the next one is due, so restarts change nothing. A
 * failure stays in the health register until one succeeds. A failure of a look at the files alone, such as a database that is
 * away for a moment, stays until the next look. Files that cannot be cared for, such as one that cannot be deleted, do not delay
 * the next one.
 */
export function startFileSchedule(parts: FileScheduleParts): Closable {
  const { key, name, everyMillis, clock, logger, register } = parts;
  const stopping = new AbortController();
  const retryMillisFirst = Math.min(retryMillisMin, everyMillis);
  const tending = newEffort();
  const making = newEffort();
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
      // Until another one leads, what failed here is not mended.
      if (parts.isLed()) isMaking = false;
      return lookMillis;
    }
    const wait = untilDue();
    if (wait > 0) return wait;
    if (!(await parts.isFilled())) return lookMillis;
    isMaking = true;
    await register.during(key, () => parts.make(stopping.signal));
    isMaking = false;
    // Those that it replaces are deleted at once.
    await tend();
    return lookMillis;
  };

  const tend = async () => {
    const { failures } = tending;
    let isTended = true;
    for (const care of parts.tend ?? [])
      try {
        await care(stopping.signal);
      } catch (error) {
        isTended = false;
        failed(tending, error, failures);
      }
    if (isTended) succeeded(tending);
  };

  const make = async (): Promise<number> => {
    try {
      const wait = await makeIfDue();
      if (!isMaking) succeeded(making);
      return wait;
    } catch (error) {
      failed(making, error, making.failures);
      return lookMillis;
    }
  };

  const retryWait = ({ retryAt }: Effort) => Math.max(0, retryAt - clock.monotonic());

  /** Returns the time until the next look. */
  const look = async (): Promise<number> => {
    if (retryWait(tending) === 0) await tend();
    if (stopping.signal.aborted) return 0;
    const due = retryWait(making) === 0 ? await make() : lookMillis;
    return Math.min(...[lookMillis, due, retryWait(tending), retryWait(making)].filter((wait) => wait > 0));
  };

  const succeeded = (effort: Effort) => {
    effort.failures = 0;
    effort.problem = null;
    report();
  };

  /** `failures`: how often it has failed before this look. */
  const failed = (effort: Effort, error: unknown, failures: number) => {
    // A signal that stops the daemon may end its child process first. Otherwise, the next look makes the files.
    if (stopping.signal.aborted || isFault(error, 'stopped')) return;
    const why = isFault(error) ? withHint(error) : (systemReason(error) ?? 'the log has the cause');
    effort.problem = {
      severity: 'attention',
      text: `the scheduled ${name} failed: ${why}`,
      since: instantFromMillis(clock.now()),
    };
    report();
    logger.warn(
      { error, ...(isFault(error) ? {} : { hint: why }) },
      `the scheduled ${name} failed and will be retried`,
    );
    effort.retryAt =
      clock.monotonic() + Math.min(retryMillisMax, retryMillisFirst * 2 ** Math.min(failures, 10));
    effort.failures = failures + 1;
  };

  const report = () => {
    const problem = making.problem ?? tending.problem;
    if (problem === null) register.clear(key);
    else register.report(key, problem);
  };

  const run = async () => {
    while (!stopping.signal.aborted) await clock.wait(await look(), stopping.signal);
  };
  const running = run();
  return {
    close: async () => {
      stopping.abort();
      await running;
    },
  };
}

const withHint = ({ message, about: { hint } }: Fault): string =>
  hint === undefined ? message : `${message} (${hint})`;
