import { callerOf, type Exchange } from '../exchange.js';
import { Problem } from '../problem.js';

/** Throws a 403 unless the caller holds at least one of the scopes, including implied ones. */
export function refuseWithout(exchange: Exchange, scopes: readonly string[]): void {
  const granted = callerOf(exchange).scopes;
  if (scopes.some((scope) => granted.has(scope))) return;
  throw new Problem(403, 'insufficient_scope', `This operation needs the scope ${scopes.join(' or ')}.`, {
    details: { required: scopes },
    remediation: `Authorize again with ${scopes[0]} among the scopes.`,
  });
}
