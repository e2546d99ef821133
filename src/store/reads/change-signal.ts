import type { Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.js';
import { type MirrorPlace, secretUrlOf } from '../database-location.js';
import type { ReadDatabase } from './views.js';

/** When it is worth to look at the change feed again. */
export interface ChangeNews {
  /** Resolves when something may have been committed since it resolved before, and when the signal fires. */
  next(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** How soon a change is seen where nobody tells of it. A look at an index costs less than a tenth of a millisecond. */
export const pollMillis = 200;

/** A file tells nobody that it was written; a server does. */
export async function openChangeNews(
  place: MirrorPlace,
  db: Kysely<ReadDatabase>,
  clock: Clock,
): Promise<ChangeNews> {
  if (place.kind === 'sqlite')
    return { next: (signal) => clock.wait(pollMillis, signal), close: async () => {} };
  const { ListenedNews } = await import('../dialect/postgres/listen-notify.js');
  return await ListenedNews.open(await secretUrlOf(place), db, clock);
}
