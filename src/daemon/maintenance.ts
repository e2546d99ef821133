import type { Config } from '../config/config.js';
import { backupKeepMillis } from '../store/dialect/sqlite/backups.js';
import { inboxKeepMillis } from '../store/inbox.js';
import { type HousekeepingParts, keepMillis, keptSince } from './housekeeping.js';
import type { OpenMirror } from './mirror-parts.js';
import { scrubWords } from './scrub-words.js';

interface Maintenance extends Pick<HousekeepingParts, 'pending' | 'scrub' | 'words' | 'purge'> {
  /** For one-shot commands, which may block their event loop. */
  readonly scrubAlone: HousekeepingParts['scrub'];
}

/** Deletes the backups made before migrations once an erasure is pending: they still contain the erased people. */
async function removeBackupsOnErasure({ upkeep, erasures }: OpenMirror): Promise<void> {
  if ((await erasures.pending()).since !== null) upkeep.removeBackups(Number.POSITIVE_INFINITY);
}

/** Returns the background jobs of a mirror. */
export function maintenanceOf(config: Config, mirror: OpenMirror): Maintenance {
  const { upkeep, inbox, outbox, alerts, audit, erasures } = mirror;
  const { keepDays } = config.history;
  const auditKeepDays = config.console?.auditKeepDays ?? null;
  return {
    words: scrubWords[config.database.kind],
    pending: () => erasures.pending(),
    scrub: async (rewritten, signal) => {
      await removeBackupsOnErasure(mirror);
      return await upkeep.scrub(rewritten, signal);
    },
    scrubAlone: async (rewritten, signal) => {
      await removeBackupsOnErasure(mirror);
      return await upkeep.scrubAlone(rewritten, signal);
    },
    purge: async (now) => {
      let deleted = upkeep.removeBackups(now - backupKeepMillis).length;
      deleted += await inbox.purge(keptSince(now, inboxKeepMillis));
      deleted += await outbox.purge(keptSince(now, keepMillis.notices));
      deleted += await alerts.purge(keptSince(now, keepMillis.notices));
      deleted += await upkeep.purgeBudgets(keptSince(now, keepMillis.budgets));
      deleted += await upkeep.purgeTicks(keptSince(now, keepMillis.ticks));
      if (auditKeepDays !== null) deleted += await audit.purge(keptSince(now, auditKeepDays * 86_400_000));
      if (keepDays !== null) deleted += await upkeep.purgeHistory(keptSince(now, keepDays * 86_400_000));
      return deleted;
    },
  };
}
