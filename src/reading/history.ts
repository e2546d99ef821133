import type { Instant } from '../domain/instant.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { requireReach } from '../store/reads/as-of.js';
import { historyAt, historyOf, type Version } from '../store/reads/history.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { requireSource } from './read-mirror.js';

export type { Version } from '../store/reads/history.js';

export interface HistoryAsk {
  readonly id: string;
  readonly source?: string;
  /** Only the version that was current at this time, in each source, with the names of companies and rounds of then. */
  readonly asOf?: Instant;
}

/** Returns versions, newest first within a source. Throws `usage` for an unknown source and for a purged time. */
export function readHistory(
  location: DatabaseLocation,
  { id, source, asOf }: HistoryAsk,
): Promise<readonly Version[]> {
  return readMirror(location, async (db) => {
    await requireSource(db, source);
    if (asOf === undefined) return await historyOf(db, id, source);
    await requireReach(db, asOf, source);
    return await historyAt(db, asOf, id, source);
  });
}
