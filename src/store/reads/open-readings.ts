import type { Clock } from '../../runtime/clock.js';
import type { DatabaseLocation } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import type { ReadingsApart } from '../dialect/port.js';

export type { ReadingsApart } from '../dialect/port.js';

/** Reads without blocking the event loop: SQLite is read in child processes, a PostgreSQL server has its own. */
export async function openReadings(location: DatabaseLocation, clock: Clock): Promise<ReadingsApart> {
  return await dialectFor(location).openReadings(clock);
}
