import type { Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.js';
import type { MirrorPlace } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import type { ChangeNews } from '../dialect/port.js';
import type { ReadDatabase } from './views.js';

export type { ChangeNews } from '../dialect/port.js';

/** Waits for commits: PostgreSQL notifies of them, SQLite is polled. */
export async function openChangeNews(
  place: MirrorPlace,
  db: Kysely<ReadDatabase>,
  clock: Clock,
): Promise<ChangeNews> {
  return await dialectFor(place).openChangeNews(db, clock);
}
