import type { Kysely } from 'kysely';
import type { ReadDatabase } from '../reads/views.js';
import type { Reader } from './port.js';

/** Runs `work` on a reader and closes it. Throws errors of the database as faults. */
export async function withReader<Result>(
  opening: Promise<Reader>,
  work: (db: Kysely<ReadDatabase>) => Promise<Result>,
): Promise<Result> {
  const reader = await opening;
  try {
    return await work(reader.db);
  } catch (error) {
    throw await reader.faultOf(error);
  } finally {
    await reader.close();
  }
}
