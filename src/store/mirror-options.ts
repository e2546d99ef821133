import type { Clock } from '../runtime/clock.js';
import type { NoticeHooks } from './committed-change.js';
import type { LeasePolicy } from './lease-rules.js';

/** How a mirror is written, whichever database it is on. */
export interface MirrorOptions extends LeasePolicy {
  readonly clock: Clock;
  readonly notices?: NoticeHooks;
  /** `drop`: the feed brings no identity, on purpose. */
  readonly identity?: 'keep' | 'drop';
}
