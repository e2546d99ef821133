import type { Phase, TickReport } from './ports.js';
import type { TickResult } from './tick-parts.js';

/**
 * Returns the mode of a tick that reads or publishes in this phase: the first thing it reads, or listing if it had to
 * list, because that explains its duration.
 */
export function modeOf(phase: Phase): TickReport['mode'] {
  if (phase.kind === 'listing') return phase.listing.kind === 'first' ? 'listing' : 'relisting';
  return phase.kind === 'sweeping' ? 'sweep' : 'delta';
}

/** Returns whether a tick retried a halted source and the platform did not answer: whether it is still refused is unknown. */
export function isUnansweredRetry({ report, phase }: Pick<TickResult, 'report' | 'phase'>): boolean {
  return phase?.kind === 'halted' && report.code !== phase.code;
}
