import { feedRetentionSeconds, updatedSinceMarginSeconds } from '../../wire/limits.js';
import type { State } from '../state/database.js';
import { run } from '../state/statements.js';

export const retentionMillis = feedRetentionSeconds * 1000;
export const updatedSinceMarginMillis = updatedSinceMarginSeconds * 1000;

/**
 * A tombstone is kept as long as somebody may still come back with a cursor from before it, and no longer.
 * Rows of what exists are the current state and stay.
 */
export function forgetOldTombstones(state: State, now: number): void {
  const oldest = now - retentionMillis - updatedSinceMarginMillis;
  run(state, 'DELETE FROM ledger WHERE shown = 0 AND observed_at < ?', [oldest]);
  run(state, 'DELETE FROM publications WHERE gone = 1 AND observed_at < ?', [oldest]);
}
