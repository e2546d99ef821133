import { feedRetentionSeconds, updatedSinceMarginSeconds } from '../../wire/limits.js';
import type { State } from '../state/database.js';
import { run } from '../state/statements.js';

export const retentionMillis = feedRetentionSeconds * 1000;
export const updatedSinceMarginMillis = updatedSinceMarginSeconds * 1000;

/**
 * Deletes tombstones older than any cursor that is still valid. Rows of existing records are the current state and are
 * kept.
 */
export function forgetOldTombstones(state: State, now: number): void {
  const oldest = now - retentionMillis - updatedSinceMarginMillis;
  run(state, 'DELETE FROM ledger WHERE shown = 0 AND observed_at < ?', [oldest]);
  run(state, 'DELETE FROM publications WHERE gone = 1 AND observed_at < ?', [oldest]);
}
