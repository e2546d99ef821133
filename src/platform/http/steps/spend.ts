import { type RateLimit, type RateLimitName, rateLimits } from '../../../wire/limits.js';
import type { Services } from '../../services.js';
import { one } from '../../state/statements.js';
import { callerOf, type Exchange, type Step } from '../exchange.js';
import { Problem } from '../problem.js';

/**
 * Counts one request against a fixed window. Windows are aligned to the epoch, so all keys of a limit reset at the same
 * time. A request over the limit is rejected and not counted.
 */
export function spendFrom(services: Services, name: RateLimitName, key: string, now: number): void {
  if (!services.options.limits) return;
  const rule: RateLimit = rateLimits[name];
  const seconds = Math.floor(now / 1000);
  const start = seconds - (seconds % rule.seconds);
  const row = one<{ spent: number }>(
    services.state,
    `INSERT INTO windows (limit_name, key, window_start, spent) VALUES (?, ?, ?, 1)
     ON CONFLICT (limit_name, key) DO UPDATE SET
       spent = CASE WHEN window_start = excluded.window_start THEN spent + 1 ELSE 1 END,
       window_start = excluded.window_start
     RETURNING spent`,
    [name, key, start],
  );
  if (row !== undefined && row.spent > rule.limit) throw tooMany(rule, start + rule.seconds, seconds);
}

function tooMany(rule: RateLimit, resetsAt: number, now: number): Problem {
  return new Problem(429, 'rate_limit_exceeded', `More than ${rule.limit} requests per ${rule.period}.`, {
    details: { limit: rule.limit, period: rule.period, retry_after: Math.max(1, resetsAt - now) },
    remediation: 'Wait details.retry_after seconds, then send the same request again.',
    headers: {
      'X-RateLimit-Limit': String(rule.limit),
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(resetsAt),
    },
  });
}

/** Counts every authenticated request against the window of its credential. */
export const spendCredential: Step = (exchange: Exchange) => {
  const caller = callerOf(exchange);
  const name = caller.kind === 'publishable' ? 'publishableKey' : 'token';
  spendFrom(exchange.services, name, caller.key, exchange.now);
};

export const spendIp = (name: 'ip' | 'catalogIp' | 'tokenEndpointIp'): Step => {
  return (exchange) => spendFrom(exchange.services, name, exchange.ip, exchange.now);
};
