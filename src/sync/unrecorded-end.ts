import { isFault } from '../domain/fault.js';
import type { Logger } from '../runtime/logger.js';
import { type RetryPlan, unrecordedFailureOf } from './failure-of.js';
import type { TickResult } from './tick-parts.js';

const message = 'the end of the tick could not be recorded';

/**
 * Returns the result of a tick whose end could not be recorded. If its work was committed, it must not look healthy all the
 * same. A halt that is not recorded must not count as one either, or nothing would ask for help or retry.
 */
export function unrecordedEnd(
  error: unknown,
  result: TickResult,
  plan: RetryPlan,
  logger: Pick<Logger, 'warn' | 'error'>,
): TickResult {
  const { report, phase } = result;
  const seen = phase?.kind === 'halted' ? phase.before : phase;
  if (report.outcome !== 'done' && seen === phase) {
    // The report has its own cause. As a rule that is the same one, which the log has for the tick.
    if (!isFault(error) || error.code !== report.code) logger.warn({ error }, message);
    return result;
  }
  const failure = unrecordedFailureOf(error, plan);
  if (failure.code === 'internal') logger.error({ error }, message);
  return {
    ...result,
    report: {
      ...report,
      outcome: 'failed',
      code: failure.code,
      message: failure.message,
      retryAt: failure.retryAt,
    },
    phase: seen,
    publishedThrough: null,
  };
}
