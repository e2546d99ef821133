import type { DatabaseLocation } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';

/** Returns whether a mirror has been created there, for commands that wait for one. */
export async function isThere(location: DatabaseLocation): Promise<boolean> {
  return await dialectFor(location).exists();
}

/** Returns whether a daemon that starts has yet to create the mirror there, or to migrate it to this version. */
export async function awaitsMigration(location: DatabaseLocation): Promise<boolean> {
  return await dialectFor(location).awaitsMigration();
}
