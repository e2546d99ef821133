import { defined } from '../domain/defined.js';
import { Interrupter, type Interruption } from '../runtime/interruption.js';
import type { FeedPage, Phase, SyncSource } from './ports.js';
import type { TickParts } from './tick-parts.js';

/** A first listing of so many pages takes long enough to ask how many there are, which costs one to five requests. */
const pagesBeforeCount = 100;

/** Each of the requests may take a minute. The listing does not wait longer than this for all of them. */
const countMillisMax = 10_000;

/**
 * Finds out how many records a first listing will read: once, and after a failure again each hundred pages. No failure to
 * find out ends the tick.
 */
export class RowCount {
  #failed = false;

  /** Adds the number to the page at which it is asked for. */
  async added(
    page: FeedPage,
    phase: Phase,
    { expectedRows }: Pick<SyncSource, 'expectedRows'>,
    { clock, logger }: Pick<TickParts, 'clock' | 'logger'>,
    signal: Interruption,
  ): Promise<FeedPage> {
    if (phase.kind !== 'listing' || phase.listing.kind !== 'first' || expectedRows === undefined) return page;
    const pages = phase.listing.pages + 1;
    const isAsked = this.#failed ? pages % pagesBeforeCount === 0 : pages === pagesBeforeCount;
    if (!page.hasMore || !isAsked) return page;
    const asking = new Interrupter();
    const end = () => asking.abort();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    void clock.wait(countMillisMax, asking).then(end);
    try {
      const rows = await expectedRows(asking);
      this.#failed = false;
      return { ...page, ...defined({ rowsExpected: rows ?? undefined }) };
    } catch (error) {
      this.#failed = true;
      logger.debug({ error }, 'how many records the listing will read is not known');
      return page;
    } finally {
      signal.removeEventListener('abort', end);
      end();
    }
  }
}
