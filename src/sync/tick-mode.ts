import type { Standing, TickReport } from './ports.js';

/** Named after the first thing a tick reads for, unless it had to list: that explains its length. */
export function modeOf(standing: Standing): TickReport['mode'] {
  switch (standing.kind) {
    case 'empty':
      return 'listing';
    case 'listing':
      return standing.listing.kind === 'first' ? 'listing' : 'relisting';
    case 'sweeping':
      return 'sweep';
    case 'following':
      return 'delta';
    case 'halted':
      return 'none';
  }
}
