import { callerOf, type Step } from '../exchange.js';
import { Problem } from '../problem.js';

/** Admits a caller that holds any one of the scopes, implied ones included. */
export function requireScope(...scopes: readonly string[]): Step {
  return (exchange) => {
    const held = callerOf(exchange).scopes;
    if (scopes.some((scope) => held.has(scope))) return;
    throw new Problem(403, 'insufficient_scope', `This operation needs the scope ${scopes.join(' or ')}.`, {
      details: { required: scopes },
      remediation: `Authorize again with ${scopes[0]} among the scopes.`,
    });
  };
}
