import type { BudgetRule } from '../budget.js';
import { type Budgets, digestOf } from '../budgets.js';
import type { PlatformTime } from '../platform-time.js';
import { ranOutOf, rateLimitWaitMillis } from '../rate-limit-wait.js';
import type { Call, Fetch } from './fetch.js';

/**
 * Counts every request that goes out, the second one after a 401 included, against the budget `keyOf` names, and
 * lets none out in a window the platform has forbidden.
 */
export function withBudget(
  fetch: Fetch,
  budgets: Budgets,
  time: PlatformTime,
  rule: BudgetRule,
  keyOf: (call: Call) => string,
): Fetch {
  return async (call) => {
    const key = keyOf(call);
    await budgets.take(key, rule, call.urgency, call.signal);
    const answer = await fetch(call);
    if (answer.status === 429) {
      const now = time.now();
      await budgets.block(key, rule, rateLimitWaitMillis(answer, now), ranOutOf(answer, rule.limit));
    }
    return answer;
  };
}

/** Sources with the same token share what the platform allows it. */
export function tokenKey(call: Call): string {
  return `token:${digestOf(call.headers.authorization ?? '')}`;
}
