import { defined } from '../domain/defined.js';
import { Interrupter, type Interruption } from '../runtime/interruption.js';
import type { FeedPage, Phase, SyncSource } from './ports.js';
import type { TickParts } from './tick-parts.js';

/** A first listing of so many pages takes long enough to ask how many there are, which costs one to five requests. */
const pagesBeforeCount = 100;

/** Each of the requests may take a minute. The listing does not wait longer than this for all of them. */
const countMillisMax = 10_000;

/** Adds how many records the listing will read to the page at which that is asked. No failure to find out ends the tick. */
export async function withExpected(
  page: FeedPage,
  phase: Phase,
  { expectedRows }: Pick<SyncSource, 'expectedRows'>,
  { clock, logger }: Pick<TickParts, 'clock' | 'logger'>,
  signal: Interruption,
): Promise<FeedPage> {
  if (phase.kind !== 'listing' || phase.listing.kind !== 'first' || expectedRows === undefined) return page;
  if (!page.hasMore || phase.listing.pages + 1 !== pagesBeforeCount) return page;
  const asking = new Interrupter();
  const end = () => asking.abort();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  void clock.wait(countMillisMax, asking).then(end);

  try {
    return { ...page, ...defined({ rowsExpected: (await expectedRows(asking)) ?? undefined }) };
  } catch (error) {
    logger.debug({ error }, 'how many records the listing will read is not known');
    return page;
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}
