import { type MirrorPlace, secretUrlOf } from '../database-location.js';
import type { Reader, ReaderOptions } from '../dialect/port.js';

export type { Reader, ReaderOptions } from '../dialect/port.js';

/**
 * Throws `database_unusable`, `database_busy`; a mirror that is not there is not created. Only the driver that is
 * needed is loaded, so that `rosterd status` answers at once.
 */
export async function openReader(place: MirrorPlace, options: ReaderOptions = {}): Promise<Reader> {
  if (place.kind === 'postgres') {
    const { openPostgresReader } = await import('../dialect/postgres/reader.js');
    return await openPostgresReader(await secretUrlOf(place), options);
  }
  const { openSqliteReader } = await import('../dialect/sqlite/reader.js');
  return openSqliteReader(place.file);
}
