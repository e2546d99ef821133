import { setImmediate } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import { backupKeepMillis, removeBackups } from '../store/dialect/sqlite/backups.js';
import { purgeHistory, purgeTicks } from '../store/dialect/sqlite/purge.js';
import { inboxKeepMillis } from '../store/inbox.js';
import { scrubApart } from '../store/scrub.js';
import { type HousekeepingParts, keepMillis, keptSince } from './housekeeping.js';
import type { OpenMirror } from './open-mirror.js';

type Chores = Pick<HousekeepingParts, 'pending' | 'scrub' | 'purge'>;

/** What keeping house means for a mirror. */
export function choresOf(config: Config, mirror: OpenMirror, clock: Clock): Chores {
  const { database, gate } = mirror;
  const { keepDays } = config.history;
  return {
    pending: () => mirror.erasures.pending(),
    scrub: (rewritten, signal) =>
      gate.closedFor(() => scrubApart({ file: database.file, now: clock.now(), rewritten }, signal)),
    purge: async (now) => {
      let gone = removeBackups(database.file, now - backupKeepMillis).length;
      gone += await mirror.inbox.purge(keptSince(now, inboxKeepMillis));
      gone += await mirror.outbox.purge(keptSince(now, keepMillis.notices));
      gone += await inSteps(() => purgeTicks(database, keptSince(now, keepMillis.ticks)));
      if (keepDays !== null)
        gone += await inSteps(() => purgeHistory(database, keptSince(now, keepDays * 86_400_000)));
      return gone;
    },
  };
}

/** Each step removes rows until none is old enough; others get their turn in between. */
async function inSteps(step: () => number): Promise<number> {
  let gone = 0;
  for (let more = step(); more > 0; more = step()) {
    gone += more;
    await setImmediate();
  }
  return gone;
}
