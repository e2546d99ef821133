import type { Answer } from './fetch/fetch.js';

const second = 1000;
/** The longest wait believed: the longest window of any limit a mirror can run into. */
const waitMillisMax = 3600 * second;
const waitMillisMin = second;
/** A reset larger than this is a moment (2001 or later), a smaller one a number of seconds. */
const epochSecondsMin = 1e9;

/** How long a 429 asks us to stay away, between a second and an hour. A second when it does not say. */
export function rateLimitWaitMillis(answer: Answer, now: number): number {
  return Math.min(Math.max(statedWaitMillis(answer, now) ?? 0, waitMillisMin), waitMillisMax);
}

/**
 * What a 429 says itself: `details.retry_after`, else `X-RateLimit-Reset`. A reset is a moment on the platform's
 * clock, so it is measured against the answer's own `Date`: ours may be wrong.
 */
export function statedWaitMillis(answer: Answer, now: number): number | undefined {
  const { retry_after } = detailsOf(answer.body);
  if (typeof retry_after === 'number' && retry_after >= 0) return retry_after * second;
  return resetMillis(answer, now);
}

/** Whether the limit that answered is the one of that size, and not one of the address or of a single endpoint. */
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
