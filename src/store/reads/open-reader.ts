import type { DatabaseLocation } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import type { Reader, ReaderOptions } from '../dialect/port.js';

export type { Reader, ReaderOptions } from '../dialect/port.js';

/** Throws `database_unusable`, `database_busy`. Never creates a missing mirror. */
export async function openReader(location: DatabaseLocation, options: ReaderOptions = {}): Promise<Reader> {
  return await dialectFor(location).openReader(options);
}
