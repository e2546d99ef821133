import { operationOf, type Step } from '../exchange.js';
import { Problem } from '../problem.js';

/** Throws a 404 for a removed operation. Runs before authorization, so every caller gets the same response. */
export const refuseRemoved: Step = (exchange) => {
  const { removedIn } = operationOf(exchange);
  // ISO dates compare correctly as strings.
  if (removedIn === undefined || exchange.version < removedIn) return;
  throw new Problem(404, 'not_found', `This operation was removed in version ${removedIn}.`, {
    details: { removed_in_version: removedIn },
  });
};
