import type { Brake, BrakePolicy } from '../sync/ports.js';

/** What stops a re-listing that would delete so many of the rows held; null when it may, or somebody said that it may. */
export function brakeOn({ share, rows, accepted }: BrakePolicy, { wouldRemove, held }: Brake): Brake | null {
  const tooMany = wouldRemove > share * held && wouldRemove >= rows;
  return tooMany && !accepted ? { wouldRemove, held } : null;
}
