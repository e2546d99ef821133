import type { Answer } from './fetch/fetch.js';

const second = 1000;
/** Nothing the platform limits has a window longer than this that is worth believing blindly. */
export const waitMillisMax = 3600 * second;
const waitMillisMin = second;
/** A reset larger than this is a moment (2001 or later), a smaller one a number of seconds. */
const epochSecondsMin = 1e9;

/**
 * How long a 429 asks us to stay away: `details.retry_after`, else `X-RateLimit-Reset`, else the least wait.
 * A reset is a moment on the platform's clock, so it is measured against the answer's own `Date`: ours may be wrong.
 */
export function rateLimitWaitMillis(answer: Answer, now: number): number {
  const asked = retryAfterMillis(answer.body) ?? resetMillis(answer, now) ?? waitMillisMin;
  return Math.min(Math.max(asked, waitMillisMin), waitMillisMax);
}

/** Whether the platform said how long, or we guess: a guess grows with every attempt. */
export function saysWhen(answer: Answer, now: number): boolean {
  return (retryAfterMillis(answer.body) ?? resetMillis(answer, now)) !== undefined;
}

function retryAfterMillis(body: string): number | undefined {
  let value: unknown;
  try {
    value = (JSON.parse(body) as { error?: { details?: { retry_after?: unknown } } } | null)?.error?.details
      ?.retry_after;
  } catch {
    return undefined;
  }
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value * second : undefined;
}

function resetMillis(answer: Answer, now: number): number | undefined {
  const header = answer.headers.get('x-ratelimit-reset');
  if (header === null || !/^\d{1,15}(\.\d+)?$/.test(header.trim())) return undefined;
  const reset = Number(header);
  if (reset < epochSecondsMin) return reset * second;
  return reset * second - (dateMillis(answer) ?? now);
}

export function dateMillis(answer: Pick<Answer, 'headers'>): number | undefined {
  const at = Date.parse(answer.headers.get('date') ?? '');
  return Number.isNaN(at) ? undefined : at;
}
