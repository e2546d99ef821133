import type { Clock } from '../runtime/clock.js';
import type { NoticeHooks } from './committed-change.js';
import type { LeasePolicy } from './lease-rules.js';

/** Options for writing a mirror, the same for both databases. */
export interface MirrorOptions extends LeasePolicy {
  readonly clock: Clock;
  readonly notices?: NoticeHooks;
  /** `drop`: the configuration excludes identity, so no page brings any. */
  readonly identity?: 'keep' | 'drop';
}
