import { callerOf, type Exchange, type Step } from '../exchange.js';
import { Problem } from '../problem.js';

/**
 * Admits people. A key and an application's own token can hold nothing that opens these operations, so they are told
 * the scope they lack; an installation may hold the scope and is still nobody's account.
 */
export function requireUser(...scopes: readonly [string, ...string[]]): Step {
  return (exchange) => {
    const { kind } = callerOf(exchange);
    if (kind === 'user') return;
    if (kind === 'publishable' || kind === 'application') {
      throw new Problem(
        403,
        'insufficient_scope',
        'This operation is about a user, and this credential has none.',
        {
          details: { required: scopes },
          remediation: `Authorize a user with ${scopes[0]} and send that access token.`,
        },
      );
    }
    throw new Problem(403, 'forbidden', 'This operation needs the token of a user.', {
      remediation: 'Authorize a user and send that access token.',
    });
  };
}

export function userOf(exchange: Exchange): { readonly userNo: number; readonly realm: 'test' | 'live' } {
  const caller = callerOf(exchange);
  if (caller.kind !== 'user') throw new Error(`${exchange.path} lacks the requireUser step`);
  return caller;
}
