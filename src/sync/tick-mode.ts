import type { Phase, TickReport } from './ports.js';

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
