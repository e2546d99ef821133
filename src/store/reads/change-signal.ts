import type { Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.js';
import { type MirrorPlace, secretUrlOf } from '../database-location.js';
import { type ChangeNews, pollMillis } from '../dialect/port.js';
import type { ReadDatabase } from './views.js';

export type { ChangeNews } from '../dialect/port.js';

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
