import type { Version } from '../../../wire/versions.js';
import type { Step } from '../exchange.js';
import { Problem } from '../problem.js';

/** Runs before authorization: a removed operation is gone for everyone, whatever they may do. */
export function refuseRemoved(removedIn: Version): Step {
  return (exchange) => {
    // Dated versions compare as text.
    if (exchange.version < removedIn) return;
    throw new Problem(404, 'not_found', `This operation was removed in version ${removedIn}.`, {
      details: { removed_in_version: removedIn },
    });
  };
}
