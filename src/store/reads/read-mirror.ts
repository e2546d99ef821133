import type { Kysely } from 'kysely';
import type { MirrorPlace } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import { withReader } from '../dialect/with-reader.js';
import type { ReadDatabase } from './views.js';

/** Runs `work` on a connection that cannot write, and closes it. */
export async function readMirror<Result>(
  place: MirrorPlace,
  work: (db: Kysely<ReadDatabase>) => Promise<Result>,
): Promise<Result> {
  return await withReader(dialectFor(place).openReader(), work);
}
