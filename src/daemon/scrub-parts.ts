import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { Awaitable, PendingErasures, Scrubbed } from '../store/erasures.js';
import type { ScrubWords } from './scrub-words.js';

/** What scrubs erased bytes, in a daemon and in a run without one. */
export interface ScrubParts {
  readonly clock: Clock;
  readonly logger: Logger;
  pending(): Awaitable<PendingErasures>;
  /**
   * Deletes the backups made before migrations that still contain erased people: at its first call, and once an erasure is
   * pending. Throws for those that cannot be deleted, and tries them again at the next call.
   */
  removeBackups(pending: PendingErasures): void;
  /** `rewritten`: the progress of the previous, blocked scrub. */
  scrub(rewritten: number, signal: AbortSignal): Promise<Scrubbed>;
  readonly words: ScrubWords;
}
