import { type Exchange, operationOf } from '../exchange.js';
import { Problem } from '../problem.js';

/** Throws a 404 for a removed operation. Runs before authorization, so every caller, known or not, gets it. */
export function refuseRemoved(exchange: Exchange): void {
  const { removedIn } = operationOf(exchange);
  // ISO dates compare correctly as strings.
  if (removedIn === undefined || exchange.version < removedIn) return;
  throw new Problem(404, 'not_found', `This operation was removed in version ${removedIn}.`, {
    details: { removed_in_version: removedIn },
  });
}
