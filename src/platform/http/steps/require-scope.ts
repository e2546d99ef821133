import { callerOf, type Exchange, type Step } from '../exchange.js';
import { Problem } from '../problem.js';

/** Requires at least one of the scopes, including implied ones. Throws a 403 otherwise. */
export const requireScope =
  (...scopes: readonly string[]): Step =>
  (exchange) =>
    refuseWithout(exchange, scopes);

export function refuseWithout(exchange: Exchange, scopes: readonly string[]): void {
  const granted = callerOf(exchange).scopes;
  if (scopes.some((scope) => granted.has(scope))) return;
  throw new Problem(403, 'insufficient_scope', `This operation needs the scope ${scopes.join(' or ')}.`, {
    details: { required: scopes },
    remediation: `Authorize again with ${scopes[0]} among the scopes.`,
  });
}
