import type { Config } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { readStatus, type StatusDocument } from '../store/reads/status.js';

export type { SourceStatus, StatusDocument } from '../store/reads/status.js';

/** What the mirror says of itself; configured sources that never ran are not in it yet. */
export function statusOf({ database }: Config, clock: Clock): Promise<StatusDocument> {
  return readMirror(database.file, (db) => readStatus(db, clock));
}
