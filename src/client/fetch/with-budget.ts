import { rateLimits } from '../../wire/limits.js';
import type { BudgetRule } from '../budget.js';
import { type Budgets, digestOf } from '../budgets.js';
import type { PlatformTime } from '../platform-time.js';
import { ranOutOf, rateLimitWaitMillis } from '../rate-limit-wait.js';
import type { Call, Fetch } from './fetch.js';

/**
 * Counts every request sent, including the second one after a 401, against the budget `keyOf` names. Sends none while
 * the platform blocks that budget. With `isAside`, a 429 of another limit does not block it.
 */
export function withBudget(
  fetch: Fetch,
  budgets: Budgets,
  time: PlatformTime,
  rule: BudgetRule,
  keyOf: (call: Call) => string,
  isAside = false,
): Fetch {
  return async (call) => {
    const key = keyOf(call);
    await budgets.take(key, rule, call.urgency, call.signal);
    const answer = await fetch(call);
    if (answer.status === 429) {
      // With a token's limit as high as the address's, a 429 may be either: the token's own count goes on.
      const isAddress = key === addressKey;
      const ranOut = ranOutOf(answer, rule.limit) && (isAddress || rule.limit !== rateLimits.ip.limit);
      // A 429 that names another limit, or none, still asks this token to wait, but not all tokens of the address.
      if (ranOut || (!isAddress && !isAside))
        await budgets.block(key, rule, rateLimitWaitMillis(answer, time.now()), ranOut);
    }
    return answer;
  };
}

/** The budget key of the address that all requests of this process come from. */
export const addressKey = 'address';

/** Returns the budget key of the token. Sources with the same token share one budget. */
export function tokenKey(call: Call): string {
  return `token:${digestOf(call.headers.authorization ?? '')}`;
}

export function keyOfToken(token: string): string {
  return `token:${digestOf(`Bearer ${token}`)}`;
}
