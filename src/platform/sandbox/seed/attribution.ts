import type { State } from '../../state/database.js';
import { run } from '../../state/statements.js';

/** The sandbox's own organization has accepted the attribution terms; takes nothing from any stream of chance. */
export function seedAttribution(state: State, now: number): void {
  run(state, 'INSERT INTO attribution_terms (organization_no, accepted_at) SELECT no, ? FROM organizations', [
    now,
  ]);
}
