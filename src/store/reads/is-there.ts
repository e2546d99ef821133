import { existsSync } from 'node:fs';
import { isMigrated } from '../dialect/postgres/open.js';
import { type MirrorPlace, secretUrlOf } from '../place.js';

/** Whether somebody made a mirror there already; for those who wait for it. */
export async function isThere(place: MirrorPlace): Promise<boolean> {
  return place.kind === 'sqlite' ? existsSync(place.file) : isMigrated(await secretUrlOf(place));
}
