import type { Phase, TickReport } from './ports.js';
import type { TickResult } from './tick-parts.js';

/**
 * Returns the mode of a tick: the first thing it reads, or listing if it had to list, because that explains its
 * duration.
 */
export function modeOf(phase: Phase): TickReport['mode'] {
  switch (phase.kind) {
    case 'empty':
      return 'listing';
    case 'listing':
      return phase.listing.kind === 'first' ? 'listing' : 'relisting';
    case 'sweeping':
      return 'sweep';
    case 'following':
      return 'delta';
    case 'halted':
      return 'none';
  }
}

/** Returns whether a tick retried a halted source and the platform did not answer: whether it is still refused is unknown. */
export function isUnansweredRetry({ report, phase }: Pick<TickResult, 'report' | 'phase'>): boolean {
  return phase?.kind === 'halted' && report.code !== phase.code;
}
