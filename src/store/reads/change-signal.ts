import type { Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.js';
import type { DatabaseLocation } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import type { ChangeSignal } from '../dialect/port.js';
import type { ReadDatabase } from './views.js';

export type { ChangeSignal } from '../dialect/port.js';

/** Waits for commits: PostgreSQL notifies of them, SQLite is polled. */
export async function openChangeSignal(
  location: DatabaseLocation,
  db: Kysely<ReadDatabase>,
  clock: Clock,
): Promise<ChangeSignal> {
  return await dialectFor(location).openChangeSignal(db, clock);
}
