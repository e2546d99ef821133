/**
 * Result of the grant check in a tick. `not_asked`: the check could not run, or the source has no way to check.
 * `regained`: the grant is back while names are incomplete, so the next tick relists.
 */
export type GrantAnswer = 'followed' | 'regained' | 'failed' | 'not_asked';

/**
 * When to check next whether the token may still read identity: once an hour, a small part of the hourly quota, and more
 * rarely where many sources share an address. A failed check is retried after 15 seconds, then with doubled waits up to an
 * hour: names under a withdrawn grant should not stay for an hour because of one bad response, and a check that never
 * succeeds should not use up the quota.
 */
export interface GrantCheck {
  /** Moment on the monotonic clock. */
  readonly dueAt: number;
  /** Consecutive failed checks. */
  readonly failures: number;
}

export const unchecked: GrantCheck = { dueAt: Number.NEGATIVE_INFINITY, failures: 0 };

const restMillis = 60 * 60_000;
const retryMillis = 15_000;

/** Returns the schedule after a tick that had to check the grant. `everyMillis`: the time between two checks. */
export function afterCheck(
  { failures }: GrantCheck,
  answer: GrantAnswer,
  now: number,
  everyMillis: number = restMillis,
): GrantCheck {
  switch (answer) {
    case 'followed':
    case 'regained':
      return { dueAt: now + everyMillis, failures: 0 };
    case 'failed':
      return {
        dueAt: now + Math.min(restMillis, retryMillis * 2 ** Math.min(failures, 20)),
        failures: failures + 1,
      };
    case 'not_asked':
      return { dueAt: Number.NEGATIVE_INFINITY, failures };
  }
}
