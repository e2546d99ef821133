import { type Instant, millisOf } from '../domain/instant.js';

/*
 * A token is asked for once, and its request is counted before it is sent. If the answer is lost, or the process dies
 * before the token is stored, the count tells the next process that a token may exist that is not known here. Another
 * one is then asked for, after a wait that grows with the count. So an installation costs at most eleven tokens in its
 * first day and one a day after that, whatever happens.
 */

const firstWaitMillis = 60_000;
const longestWaitMillis = 24 * 3_600_000;

/** Returns how long to wait before the next token of an installation is asked for; 0 for the first one. */
export function mintWaitMillis(mints: number, lastMintAt: Instant | null, now: number): number {
  if (mints === 0 || lastMintAt === null) return 0;
  const wait = Math.min(longestWaitMillis, firstWaitMillis * 2 ** Math.min(mints - 1, 20));
  const since = now - millisOf(lastMintAt);
  // A time in the future was written under a wrong clock; the next request writes the right one.
  return since < 0 ? 0 : Math.max(0, wait - since);
}
