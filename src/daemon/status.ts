import type { Clock } from '../runtime/clock.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { readStatus, type StatusDocument } from '../store/reads/status.js';

export type { SourceStatus, StatusDocument } from '../store/reads/status.js';

/** What the mirror says of itself; sources that are configured and never ran are not in it yet. */
export function statusOf(file: string, clock: Clock): Promise<StatusDocument> {
  return readMirror(file, (db) => readStatus(db, clock));
}
