import type { Kysely } from 'kysely';
import { sqliteFault } from '../dialect/sqlite/faults.js';
import { openSqlite } from '../dialect/sqlite/open.js';
import { type ReadDatabase, withViews } from './views.js';

/** Runs `work` on a connection that cannot write, and closes it. For commands that only look. */
export async function readMirror<Result>(
  file: string,
  work: (db: Kysely<ReadDatabase>) => Promise<Result>,
): Promise<Result> {
  const opened = openSqlite(file, { readonly: true });
  try {
    return await work(withViews(opened.kysely));
  } catch (error) {
    throw sqliteFault(error, file);
  } finally {
    opened.close();
  }
}
