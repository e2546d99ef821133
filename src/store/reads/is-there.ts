import { existsSync } from 'node:fs';
import { type MirrorPlace, secretUrlOf } from '../database-location.js';
import { isMigrated } from '../dialect/postgres/open.js';

/** Whether somebody made a mirror there already; for those who wait for it. */
export async function isThere(place: MirrorPlace): Promise<boolean> {
  return place.kind === 'sqlite' ? existsSync(place.file) : isMigrated(await secretUrlOf(place));
}
