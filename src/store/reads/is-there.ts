import type { MirrorPlace } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';

/** Returns whether a mirror has been created there, for commands that wait for one. */
export async function isThere(place: MirrorPlace): Promise<boolean> {
  return await dialectFor(place).exists();
}
