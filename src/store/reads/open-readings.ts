import type { Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.js';
import type { MirrorPlace } from '../database-location.js';
import { readMirror } from './read-mirror.js';
import type { ReadDatabase } from './views.js';

/** For whoever has more to do than to wait for answers: SQLite gives them in another process, a server is one. */
export interface ReadingsApart {
  /** As `readMirror`. */
  read<Result>(work: (db: Kysely<ReadDatabase>) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export async function openReadings(place: MirrorPlace, clock: Clock): Promise<ReadingsApart> {
  if (place.kind === 'postgres') return { read: (work) => readMirror(place, work), close: async () => {} };
  const { ReadingProcess } = await import('../dialect/sqlite/reading-process.js');
  const { readSqliteApart } = await import('../dialect/sqlite/reader-apart.js');
  const process = new ReadingProcess(clock);
  return {
    read: (work) => readSqliteApart(process, place.file, ({ db }) => work(db)),
    close: () => process.close(),
  };
}
