import type { MirrorPlace } from '../database-location.js';
import { secretUrlOf } from '../database-location.js';
import type { Ask, Snapshots } from '../dialect/port.js';

export type { Ask, Snapshots } from '../dialect/port.js';

export async function openSnapshots(place: MirrorPlace): Promise<Snapshots> {
  // Opening a file costs less than a look into it.
  if (place.kind === 'sqlite') return { take: (work) => inSnapshot(place, work), close: async () => {} };
  const { KeptSnapshots } = await import('../dialect/postgres/snapshot.js');
  return new KeptSnapshots(() => secretUrlOf(place));
}

/**
 * Opens a connection that cannot write and lets `work` ask several things of one state of the mirror. Throws
 * `database_unusable`, `database_busy`. For commands people wait for: nothing but the driver itself is loaded.
 */
export async function inSnapshot<Result>(
  place: MirrorPlace,
  work: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  if (place.kind === 'sqlite') {
    const { sqliteSnapshot } = await import('../dialect/sqlite/snapshot.js');
    return await sqliteSnapshot(place.file, work);
  }
  const { postgresSnapshot } = await import('../dialect/postgres/snapshot.js');
  return await postgresSnapshot(await secretUrlOf(place), work);
}
