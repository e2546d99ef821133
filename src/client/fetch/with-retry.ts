import { type Fault, isFault } from '../../domain/fault.js';
import { millisOf } from '../../domain/instant.js';
import { type BackoffPlan, backoffMillis } from '../../runtime/backoff.js';
import type { Clock } from '../../runtime/clock.js';
import type { Logger } from '../../runtime/logger.js';
import type { Random } from '../../runtime/random.js';
import { rateLimitWaitMillis, statedWaitMillis } from '../rate-limit-wait.js';
import type { Answer, Call, Fetch } from './fetch.js';

export interface RetryPlan {
  /** Maximum retries after failures (5xx, no response) and after 429, counted separately. */
  readonly failuresMax: number;
  readonly rateLimitsMax: number;
  readonly backoff: BackoffPlan;
  /** A longer wait is returned to the caller, who can report it and do other work meanwhile. */
  readonly waitMillisMax: number;
}

export const defaultRetryPlan: RetryPlan = {
  failuresMax: 3,
  rateLimitsMax: 5,
  backoff: { baseMillis: 250, capMillis: 5_000 },
  waitMillisMax: 5_000,
};

export interface RetryParts {
  readonly plan: RetryPlan;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly outage: Outage;
}

/**
 * Whether the platform was down at the last request. While it is, a call is sent only once: the scheduler retries at
 * its own growing intervals, and retries of retries would only add load.
 */
export class Outage {
  isOn = false;
}

/**
 * Retries any request after a 429, which had no effect, and after a failure only a replayable one. Terminates: both
 * counts only grow, and each has a maximum.
 */
export function withRetry(fetch: Fetch, parts: RetryParts): Fetch {
  return (call) => fetchWithRetries(fetch, call, parts);
}

async function fetchWithRetries(fetch: Fetch, call: Call, parts: RetryParts): Promise<Answer> {
  const { plan, clock, random, outage } = parts;
  let failures = 0;
  let rateLimits = 0;
  for (;;) {
    const outcome = await attempt(fetch, call);
    let waitMillis: number;
    if (isRateLimit(outcome)) {
      // Jitter only lengthens the wait: sources that were blocked together should not come back together.
      waitMillis = rateLimitWait(outcome, rateLimits, parts) + Math.round(random.fraction() * 1000);
      rateLimits += 1;
      if (rateLimits > plan.rateLimitsMax || waitMillis > plan.waitMillisMax) return settle(outcome);
    } else if (isFailure(outcome)) {
      if (!call.replayable || outage.isOn || failures >= plan.failuresMax) {
        outage.isOn = true;
        return settle(outcome);
      }
      waitMillis = backoffMillis(plan.backoff, failures, random);
      failures += 1;
    } else {
      if (outcome.kind === 'answer') outage.isOn = false;
      return settle(outcome);
    }
    logRetry(parts.logger, call, outcome, failures + rateLimits, waitMillis);
    await clock.wait(waitMillis, call.signal);
  }
}

type Outcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'fault'; readonly fault: Fault };

async function attempt(fetch: Fetch, call: Call): Promise<Outcome> {
  try {
    return { kind: 'answer', answer: await fetch(call) };
  } catch (error) {
    if (isFault(error)) return { kind: 'fault', fault: error };
    throw error;
  }
}

function settle(outcome: Outcome): Answer {
  if (outcome.kind === 'fault') throw outcome.fault;
  return outcome.answer;
}

function isRateLimit(outcome: Outcome): boolean {
  return outcome.kind === 'answer' ? outcome.answer.status === 429 : outcome.fault.code === 'rate_limited';
}

function isFailure(outcome: Outcome): boolean {
  if (outcome.kind === 'fault')
    return outcome.fault.code === 'unreachable' && outcome.fault.about.lasting !== true;
  return outcome.answer.status >= 500 || outcome.answer.status === 408;
}

/** Returns the wait stated by the platform or by our own budget, else one that doubles with every attempt. */
function rateLimitWait(outcome: Outcome, attempts: number, parts: RetryParts): number {
  const now = parts.clock.now();
  if (outcome.kind === 'fault') {
    const until = outcome.fault.about.retryAt;
    return until === undefined ? Number.POSITIVE_INFINITY : Math.max(0, millisOf(until) - now);
  }
  const least = rateLimitWaitMillis(outcome.answer, now);
  if (statedWaitMillis(outcome.answer, now) !== undefined) return least;
  return least * 2 ** attempts;
}

function logRetry(logger: Logger, call: Call, outcome: Outcome, attempt: number, waitMs: number): void {
  const why = outcome.kind === 'fault' ? { code: outcome.fault.code } : { status: outcome.answer.status };
  logger.debug(
    { method: call.method, path: call.url.pathname, attempt, waitMs, ...why },
    'the request will be retried',
  );
}
