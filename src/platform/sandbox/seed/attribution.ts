import type { State } from '../../state/database.js';
import { run } from '../../state/statements.js';

/** Accepts the attribution terms for the seeded organization. Uses no random values. */
export function seedAttribution(state: State, now: number): void {
  run(state, 'INSERT INTO attribution_terms (organization_no, accepted_at) SELECT no, ? FROM organizations', [
    now,
  ]);
}
