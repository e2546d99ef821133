import type { Closable } from '../runtime/lifecycle.js';
import type { PendingErasures } from '../store/erasures.js';
import type { Engine, EngineParts } from './engine.js';
import { finishRun } from './finish-run.js';
import { isScrubDue } from './scrub-job.js';
import type { SourceResult } from './source-result.js';

/** How often backups made before a migration are looked for that contain erased people: one query and the names of a folder. */
const backupsMillis = 10 * 60_000;

/**
 * What follows the ticks of a program that does not start its mirror: notices are sent and erased bytes are scrubbed, as
 * after `rosterd sync`. A program may tick every second, so scrubs have the spacing that a daemon gives them.
 */
export class TickEnds implements Closable {
  readonly #stopping = new AbortController();
  /** One at a time: two scrubs would only block each other. */
  #last: Promise<void> = Promise.resolve();
  /** On the monotonic clock. */
  #scrubbedAt: number | null = null;
  #backupsAt: number | null = null;

  constructor(
    private readonly engine: Pick<Engine, 'mirror'>,
    private readonly parts: EngineParts,
  ) {}

  /** Never rejects: what fails waits for the next tick. */
  finish(results: readonly SourceResult[]): Promise<void> {
    this.#last = this.#last.then(() => this.#finish(results));
    return this.#last;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#last;
  }

  async #finish(results: readonly SourceResult[]): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    const end = { results, mayBlock: false, isScrubDue: (pending: PendingErasures) => this.#isDue(pending) };
    try {
      await finishRun(this.engine, this.parts, end, signal);
    } catch (error) {
      if (!signal.aborted)
        this.parts.logger.warn({ error }, 'notices, or bytes of erased identities, wait for the next tick');
    }
    this.#removeBackups();
  }

  /** One that this user may not delete does not wait for the next erasure, nor does one that an earlier process left. */
  #removeBackups(): void {
    const { clock, logger } = this.parts;
    const now = clock.monotonic();
    if (this.#backupsAt !== null && now - this.#backupsAt < backupsMillis) return;
    this.#backupsAt = now;
    try {
      this.engine.mirror.upkeep.removeErasedBackups();
    } catch (error) {
      logger.warn({ error }, 'backups with erased identities remain; retrying');
    }
  }

  #isDue(pending: PendingErasures): boolean {
    const { clock } = this.parts;
    const now = clock.monotonic();
    if (!isScrubDue(pending, clock.now(), this.#scrubbedAt === null ? null : now - this.#scrubbedAt))
      return false;
    this.#scrubbedAt = now;
    return true;
  }
}
