import type { FaultCode } from '../domain/fault.js';
import type { Instant } from '../domain/instant.js';
import type { TickReport } from '../sync/ports.js';
import type { TickRowsTable } from './schema.js';
import { moveTo, type SourceRow } from './source-row.js';

export interface Halted {
  readonly code: FaultCode;
  readonly message: string;
}

/** The columns of a tick without its number, in the order that statements use. */
export const tickColumns = [
  ...['source_no', 'trigger', 'mode', 'started_at', 'took_ms', 'pages', 'added', 'changed', 'removed'],
  ...['quarantined', 'outcome', 'code', 'message'],
] as readonly (keyof TickRowsTable)[];

export function tickValues(source: SourceRow, report: TickReport): readonly (string | number | null)[] {
  const { applied } = report;
  return [
    ...[source.no, report.trigger, report.mode, report.startedAt, Math.round(report.tookMs), report.pages],
    ...[applied.added, applied.changed, applied.removed, applied.quarantined],
    ...[report.outcome, report.code, report.message],
  ];
}

/**
 * Writes the outcome of a tick to its source row. `now` is wall-clock time, so the next tick replaces a time in the
 * future.
 */
export function recordOutcome(
  source: SourceRow,
  now: Instant,
  report: TickReport,
  halted: Halted | null,
): void {
  source.last_tick_at = now;
  source.last_outcome = report.outcome;
  source.retry_at = report.retryAt;
  if (report.outcome === 'done') {
    // Records that are read again by themselves say nothing of what the feed has since the tick before.
    if (report.mode !== 'none') source.last_success_at = now;
    source.last_error_code = null;
    source.last_error = null;
    source.last_error_at = null;
  } else if (report.code !== null) {
    source.last_error_code = report.code;
    source.last_error = report.message;
    source.last_error_at = now;
  }
  if (halted !== null) halt(source, now, halted);
  else if (source.halted_from !== null) moveTo(source, source.halted_from);
}

/** Keeps the position, so that a re-authorized source continues from its cursor. */
function halt(source: SourceRow, at: Instant, { code, message }: Halted): void {
  if (source.state !== 'halted') source.halted_from = source.state;
  source.state = 'halted';
  source.halted_code = code;
  source.halted_message = message;
  source.halted_at = at;
}
