import type { FaultCode } from '../../../domain/fault.js';
import type { TickReport } from '../../../sync/ports.js';
import type { Commit } from './commit.js';

export function recordTick(
  commit: Commit,
  report: TickReport,
  halted: { readonly code: FaultCode; readonly message: string } | null,
): void {
  const { statements, source, at } = commit;
  const { applied } = report;
  statements.insertTick.run(
    source.no,
    report.trigger,
    report.mode,
    report.startedAt,
    Math.round(report.tookMs),
    report.pages,
    applied.added,
    applied.changed,
    applied.removed,
    applied.quarantined,
    report.outcome,
    report.code,
    report.message,
  );
  source.last_tick_at = at;
  source.last_outcome = report.outcome;
  source.retry_at = report.retryAt;
  if (report.outcome === 'done') {
    source.last_success_at = at;
    source.last_error_code = null;
    source.last_error = null;
    source.last_error_at = null;
  } else if (report.code !== null) {
    source.last_error_code = report.code;
    source.last_error = report.message;
    source.last_error_at = at;
  }
  if (halted !== null) halt(commit, halted);
  else if (source.halted_from !== null) commit.moveTo(source.halted_from);
}

/** The position stays where it is, so that a re-authorized source goes on from its cursor. */
function halt(
  { source, at }: Commit,
  { code, message }: { readonly code: FaultCode; readonly message: string },
): void {
  if (source.state !== 'halted') source.halted_from = source.state;
  source.state = 'halted';
  source.halted_code = code;
  source.halted_message = message;
  source.halted_at = at;
}
