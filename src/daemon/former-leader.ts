import { type Instant, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { madeBy } from '../store/backup/file-names.js';

/*
 * The leader of a fleet makes files on a schedule and deletes the oldest ones. A daemon that no longer leads makes none, so
 * the files from the time when it led, and the people in them, would stay for ever.
 */

/** What a daemon has to know to care for the files from the time when it led. */
export interface FormerLeader {
  readonly clock: Clock;
  /** Whether another daemon is known to lead. */
  isLed(): boolean;
  /** The time of another clock than this host's. In a fleet, that of the database. */
  otherNow(): Promise<number>;
}

export interface Kept {
  readonly everyMillis: number;
  readonly keep: number;
  /** Whether the newest of this host, made at this time, may be deleted once it is too old. */
  mayLoseNewest(millis: number, now: number): boolean;
}

/**
 * Returns the files which the leader would have deleted by now: those beyond `keep`, and those older than `keep` times
 * `every`. In a folder that several daemons share, the newest one may be the last one there is, if the leader fails to make
 * more, so `mayLoseNewest` decides about it. Returns none while no other daemon leads, and none dated in the future.
 */
export async function outlived<Made extends { readonly made_at: Instant }>(
  { clock, isLed, otherNow }: FormerLeader,
  newestFirst: () => readonly Made[],
  kept: Kept,
): Promise<readonly Made[]> {
  const old = (now: number) => tooOld(madeBy(newestFirst(), now), kept, now);
  if (!isLed() || old(clock.now()).length === 0) return [];
  // A clock that is ahead must not delete what is kept: both have to agree.
  return old(Math.min(clock.now(), await otherNow()));
}

function tooOld<Made extends { readonly made_at: Instant }>(
  made: readonly Made[],
  { everyMillis, keep, mayLoseNewest }: Kept,
  now: number,
): readonly Made[] {
  return made.filter(({ made_at }, index) => {
    const millis = millisOf(made_at);
    if (index >= keep) return true;
    return now - millis > keep * everyMillis && (index > 0 || mayLoseNewest(millis, now));
  });
}

/** Keeps the newest twice as long as the others. For what can be made again from the mirror at any time. */
export const twiceAsLong = (kept: Omit<Kept, 'mayLoseNewest'>): Kept => ({
  ...kept,
  mayLoseNewest: (millis, now) => now - millis > 2 * kept.keep * kept.everyMillis,
});
