import type { Kysely } from 'kysely';
import type { MirrorPlace } from '../database-location.js';
import { openReader } from './open-reader.js';
import type { ReadDatabase } from './views.js';

/** Runs `work` on a connection that cannot write, and closes it. For commands that only look. */
export async function readMirror<Result>(
  place: MirrorPlace,
  work: (db: Kysely<ReadDatabase>) => Promise<Result>,
): Promise<Result> {
  const reader = await openReader(place);
  try {
    return await work(reader.db);
  } catch (error) {
    throw reader.faultOf(error);
  } finally {
    await reader.close();
  }
}
