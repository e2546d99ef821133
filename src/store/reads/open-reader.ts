import { type MirrorPlace, secretUrlOf } from '../database-location.js';
import type { Readings } from '../mirror-database.js';

/** A connection of one's own that cannot write. */
export interface Reader extends Readings {
  /** What the database throws, as a fault; anything else as it is. */
  faultOf(error: unknown): unknown;
  close(): Promise<void>;
}

export interface ReaderOptions {
  /** A server that has not answered a question by then has died in silence: `database_busy`. Unlimited unless given. */
  readonly answerMillis?: number;
}

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
