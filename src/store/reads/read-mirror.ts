import type { Kysely } from 'kysely';
import type { DatabaseLocation } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import type { ReaderOptions } from '../dialect/port.js';
import { withReader } from '../dialect/with-reader.js';
import type { ReadDatabase } from './views.js';

/** Runs `work` on a connection that cannot write, and closes it. */
export async function readMirror<Result>(
  location: DatabaseLocation,
  work: (db: Kysely<ReadDatabase>) => Promise<Result>,
  options: Pick<ReaderOptions, 'answerMillis'> = {},
): Promise<Result> {
  return await withReader(dialectFor(location).openReader(options), work);
}

/**
 * The same, and everything that `work` reads is the state of one moment. SQLite cannot shorten its write-ahead log, and
 * no erased byte is overwritten, until `work` has ended.
 */
export async function readOneState<Result>(
  location: DatabaseLocation,
  work: (db: Kysely<ReadDatabase>) => Promise<Result>,
): Promise<Result> {
  return await withReader(dialectFor(location).openReader({ oneState: true }), work);
}
