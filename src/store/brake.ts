import type { Brake, BrakePolicy } from '../sync/ports.js';

/**
 * Returns the counts when a re-listing would delete more than the policy allows; null when it is within the limits or
 * the deletions were accepted.
 */
export function brakeOn({ share, rows, accepted }: BrakePolicy, { wouldRemove, held }: Brake): Brake | null {
  const tooMany = wouldRemove > share * held && wouldRemove >= rows;
  return tooMany && !accepted ? { wouldRemove, held } : null;
}
