import type { DatabaseLocation } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import type { Ask, Snapshots } from '../dialect/port.js';

export type { Ask, Snapshots } from '../dialect/port.js';

export async function openSnapshots(location: DatabaseLocation): Promise<Snapshots> {
  return await dialectFor(location).openSnapshots();
}

/**
 * Opens a connection that cannot write and lets `work` run several queries on one state of the mirror. Loads only the
 * driver, because people wait for the commands that use it. Throws `database_unusable`, `database_busy`.
 */
export async function inSnapshot<Result>(
  location: DatabaseLocation,
  work: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  return await dialectFor(location).inSnapshot(work);
}
