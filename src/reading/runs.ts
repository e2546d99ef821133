import type { DatabaseLocation } from '../store/database-location.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { type Tick, ticksOf } from '../store/reads/ticks.js';

export type { Tick } from '../store/reads/ticks.js';

export interface RunsWanted {
  readonly source?: string;
  readonly max: number;
}

/** Returns the last ticks, newest first. */
export function runs(location: DatabaseLocation, wanted: RunsWanted): Promise<readonly Tick[]> {
  return readMirror(location, (db) => ticksOf(db, wanted));
}
