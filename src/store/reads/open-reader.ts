import type { Readings } from '../mirror-database.js';
import { type MirrorPlace, secretUrlOf } from '../place.js';

/** A connection of one's own that cannot write. */
export interface Reader extends Readings {
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
  const { openSqliteReader } = await import('../dialect/sqlite/reader.js');
  return openSqliteReader(place.file);
}
