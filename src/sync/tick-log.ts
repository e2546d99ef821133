import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import { isUnansweredRetry } from './tick-mode.js';
import type { TickResult } from './tick-parts.js';

/** How often a source that keeps failing for the same reason logs a warning. */
const repeatedMillis = 10 * 60_000;

/**
 * Logs the end of every tick of one source. A source that waits for a locked or full database retries several times a
 * minute, for as long as that takes: the first failure and one every ten minutes are warnings.
 */
export class TickLog {
  #failed: { readonly code: string | null; readonly at: number } | null = null;

  constructor(
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  ended({ report, phase }: TickResult): void {
    const { trigger, mode, pages, tookMs, outcome, applied } = report;
    const { logger } = this;
    const fields = {
      trigger,
      mode,
      pages,
      tookMs,
      outcome,
      added: applied.added,
      changed: applied.changed,
      removed: applied.removed,
      quarantined: applied.quarantined,
      ...(report.code === null ? {} : { code: report.code }),
      ...(report.retryAt === null ? {} : { until: report.retryAt }),
      ...(report.message === null || report.code === 'internal' ? {} : { hint: report.message }),
    };
    const isRepeated = this.#isRepeated(outcome, report.code);
    const isHalted = phase?.kind === 'halted' && !isUnansweredRetry({ report, phase });
    if (isHalted && trigger === 'timer' && mode === 'none')
      logger.debug(fields, 'the source still waits for a human');
    else if (isHalted) logger.error(fields, 'the source waits for a human');
    else if (outcome === 'failed')
      logger[isRepeated ? 'debug' : 'warn'](fields, 'the tick failed and will be retried');
    else if (applied.quarantined > 0)
      logger.warn(fields, 'records could not be parsed and are in quarantine');
    else if (outcome === 'done' && pages <= 1 && applied.added + applied.changed + applied.removed === 0)
      logger.debug(fields, 'nothing new');
    else logger.info(fields, 'the tick ended');
  }

  /** Whether the tick failed as the ones before it did, and a warning said so a short time ago. */
  #isRepeated(outcome: string, code: string | null): boolean {
    if (outcome === 'done') this.#failed = null;
    if (outcome !== 'failed') return false;
    const now = this.clock.monotonic();
    const isRepeated = this.#failed?.code === code && now - this.#failed.at < repeatedMillis;
    if (!isRepeated) this.#failed = { code, at: now };
    return isRepeated;
  }
}
