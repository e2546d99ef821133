/**
 * What became of the question in a tick; `not_asked` where it could not be put, or nobody answers it. `regained` where
 * names are incomplete since the grant is back: the next tick lists for them.
 */
export type GrantAnswer = 'followed' | 'regained' | 'failed' | 'not_asked';

/**
 * When a source is next asked whether its token may still read identity. Once an hour is a request of the thousand
 * there are. One that fails is asked again after 15 seconds and then half as often each time, since names of a lost
 * grant should not wait an hour for one bad answer, and an answer that never comes should not eat the quota.
 */
export interface GrantCheck {
  /** Moment on the monotonic clock. */
  readonly dueAt: number;
  /** Failed in a row. */
  readonly failures: number;
}

export const unchecked: GrantCheck = { dueAt: Number.NEGATIVE_INFINITY, failures: 0 };

const restMillis = 60 * 60_000;
const retryMillis = 15_000;

/** After a tick that was to ask. */
export function afterCheck({ failures }: GrantCheck, answer: GrantAnswer, now: number): GrantCheck {
  switch (answer) {
    case 'followed':
    case 'regained':
      return { dueAt: now + restMillis, failures: 0 };
    case 'failed':
      return {
        dueAt: now + Math.min(restMillis, retryMillis * 2 ** Math.min(failures, 20)),
        failures: failures + 1,
      };
    case 'not_asked':
      return { dueAt: Number.NEGATIVE_INFINITY, failures };
  }
}
