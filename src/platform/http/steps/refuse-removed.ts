import type { Version } from '../../../wire/versions.js';
import type { Step } from '../exchange.js';
import { Problem } from '../problem.js';

/** Throws a 404 for a removed operation. Runs before authorization, so every caller gets the same response. */
export function refuseRemoved(removedIn: Version): Step {
  return (exchange) => {
    // ISO dates compare correctly as strings.
    if (exchange.version < removedIn) return;
    throw new Problem(404, 'not_found', `This operation was removed in version ${removedIn}.`, {
      details: { removed_in_version: removedIn },
    });
  };
}
