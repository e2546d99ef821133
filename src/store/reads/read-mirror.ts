import type { Kysely } from 'kysely';
import type { DatabaseLocation } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import { withReader } from '../dialect/with-reader.js';
import type { ReadDatabase } from './views.js';

/** Runs `work` on a connection that cannot write, and closes it. */
export async function readMirror<Result>(
  location: DatabaseLocation,
  work: (db: Kysely<ReadDatabase>) => Promise<Result>,
): Promise<Result> {
  return await withReader(dialectFor(location).openReader(), work);
}
