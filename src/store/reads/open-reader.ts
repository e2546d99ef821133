import type { Kysely } from 'kysely';
import { type MirrorPlace, secretUrlOf } from '../place.js';
import { type ReadDatabase, withViews } from './views.js';

/** A connection of one's own that cannot write. */
export interface Reader {
  readonly db: Kysely<ReadDatabase>;
  /** What the database throws, as a fault; anything else as it is. */
  faultOf(error: unknown): unknown;
  close(): Promise<void>;
}

/**
 * Throws `database_unusable`, `database_busy`; a mirror that is not there is not created. Only the driver that is
 * needed is loaded, so that `rosterd status` answers at once.
 */
export async function openReader(place: MirrorPlace): Promise<Reader> {
  if (place.kind === 'postgres') {
    const { openPostgresReader } = await import('../dialect/postgres/reader.js');
    return await openPostgresReader(await secretUrlOf(place));
  }
  const { file } = place;
  const [{ openSqlite }, { sqliteFault }] = await Promise.all([
    import('../dialect/sqlite/open.js'),
    import('../dialect/sqlite/faults.js'),
  ]);
  const opened = openSqlite(file, { readonly: true });
  return {
    db: withViews(opened.kysely),
    faultOf: (error) => sqliteFault(error, file),
    close: async () => opened.close(),
  };
}
