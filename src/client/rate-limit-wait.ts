import type { Answer } from './fetch/fetch.js';

const second = 1000;
/** The longest accepted wait: the longest window of any limit that a mirror can hit. */
const waitMillisMax = 3600 * second;
const waitMillisMin = second;
/** A larger reset is a Unix time (2001 or later), a smaller one a number of seconds. */
const epochSecondsMin = 1e9;

/** Returns how long a 429 asks us to wait, between a second and an hour; a second when it does not say. */
export function rateLimitWaitMillis(answer: Answer, now: number): number {
  return Math.min(Math.max(statedWaitMillis(answer, now) ?? 0, waitMillisMin), waitMillisMax);
}

/**
 * Returns the wait that a 429 states: `details.retry_after`, else `X-RateLimit-Reset`. A reset is a time on the
 * platform's clock, so it is compared with the response's own `Date`; our clock may be wrong.
 */
export function statedWaitMillis(answer: Answer, now: number): number | undefined {
  const { retry_after } = detailsOf(answer.body);
  if (typeof retry_after === 'number' && retry_after >= 0) return retry_after * second;
  return resetMillis(answer, now);
}

/** Returns whether the exhausted limit is the one of this size, not one per address or per endpoint. */
export function ranOutOf(answer: Answer, limit: number): boolean {
  return detailsOf(answer.body).limit === limit;
}

function detailsOf(body: string): { readonly retry_after?: unknown; readonly limit?: unknown } {
  try {
    return (JSON.parse(body) as { error?: { details?: object } } | null)?.error?.details ?? {};
  } catch {
    return {};
  }
}

function resetMillis(answer: Answer, now: number): number | undefined {
  const header = answer.headers.get('x-ratelimit-reset')?.trim() ?? '';
  if (!/^\d{1,15}(\.\d{1,9})?$/.test(header)) return undefined;
  const reset = Number(header);
  if (reset < epochSecondsMin) return reset * second;
  return reset * second - (dateMillis(answer) ?? now);
}

export function dateMillis(answer: Pick<Answer, 'headers'>): number | undefined {
  const at = Date.parse(answer.headers.get('date') ?? '');
  return Number.isNaN(at) ? undefined : at;
}
