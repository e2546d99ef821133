import type { MirrorPlace } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import type { Reader, ReaderOptions } from '../dialect/port.js';

export type { Reader, ReaderOptions } from '../dialect/port.js';

/** Throws `database_unusable`, `database_busy`. Never creates a missing mirror. */
export async function openReader(place: MirrorPlace, options: ReaderOptions = {}): Promise<Reader> {
  return await dialectFor(place).openReader(options);
}
