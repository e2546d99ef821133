import { callerOf, type Exchange, type Step } from '../exchange.js';
import { Problem } from '../problem.js';

/**
 * Requires a user token. Publishable keys and client-credentials tokens never have these scopes, so the error names
 * the missing scope. An installation may have the scope but does not act for a user.
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
