import type { Config } from '../config/config.js';
import { backupKeepMillis } from '../store/dialect/sqlite/backups.js';
import { inboxKeepMillis } from '../store/inbox.js';
import { type HousekeepingParts, keepMillis, keptSince } from './housekeeping.js';
import type { OpenMirror } from './mirror-parts.js';

interface Chores extends Pick<HousekeepingParts, 'pending' | 'scrub' | 'purge'> {
  /** For a process that serves nobody meanwhile and may stand still for a moment. */
  readonly scrubAlone: HousekeepingParts['scrub'];
}

/** A copy made before a migration holds whoever was erased since; it is the way back only until then. */
async function removeCopies({ upkeep, erasures }: OpenMirror): Promise<void> {
  if ((await erasures.pending()).since !== null) upkeep.removeBackups(Number.POSITIVE_INFINITY);
}

/** What keeping house means for a mirror. */
export function choresOf(config: Config, mirror: OpenMirror): Chores {
  const { upkeep, inbox, outbox, erasures } = mirror;
  const { keepDays } = config.history;
  return {
    pending: () => erasures.pending(),
    scrub: async (rewritten, signal) => {
      await removeCopies(mirror);
      return await upkeep.scrub(rewritten, signal);
    },
    scrubAlone: async (rewritten, signal) => {
      await removeCopies(mirror);
      return await upkeep.scrubAlone(rewritten, signal);
    },
    purge: async (now) => {
      let gone = upkeep.removeBackups(now - backupKeepMillis).length;
      gone += await inbox.purge(keptSince(now, inboxKeepMillis));
      gone += await outbox.purge(keptSince(now, keepMillis.notices));
      gone += await upkeep.purgeTicks(keptSince(now, keepMillis.ticks));
      if (keepDays !== null) gone += await upkeep.purgeHistory(keptSince(now, keepDays * 86_400_000));
      return gone;
    },
  };
}
