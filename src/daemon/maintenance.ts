import type { Config } from '../config/config.js';
import { backupKeepMillis } from '../store/dialect/sqlite/backups.js';
import { inboxKeepMillis } from '../store/inbox.js';
import { type HousekeepingParts, keepMillis, keptSince } from './housekeeping.js';
import type { OpenMirror } from './mirror-parts.js';
import { scrubWords } from './scrub-words.js';

interface Maintenance
  extends Pick<HousekeepingParts, 'pending' | 'removeBackups' | 'scrub' | 'words' | 'purge'> {
  /** For one-shot commands, which may block their event loop. */
  readonly scrubAlone: HousekeepingParts['scrub'];
}

/** Returns the background jobs of a mirror. */
export function maintenanceOf(config: Config, mirror: OpenMirror): Maintenance {
  const { upkeep, inbox, outbox, alerts, audit, erasures } = mirror;
  const { keepDays } = config.history;
  const auditKeepDays = config.console?.auditKeepDays ?? null;
  /** Whether backups may be left that contain erased people: an earlier process may not have been able to delete them. */
  let backupsLeft = true;
  return {
    words: scrubWords[config.database.kind],
    pending: () => erasures.pending(),
    removeBackups: ({ since }) => {
      if (since !== null) backupsLeft = true;
      if (backupsLeft) upkeep.removeErasedBackups();
      backupsLeft = false;
    },
    scrub: (rewritten, signal) => upkeep.scrub(rewritten, signal),
    scrubAlone: (rewritten, signal) => upkeep.scrubAlone(rewritten, signal),
    purge: async (now) => {
      let deleted = await inbox.purge(keptSince(now, inboxKeepMillis));
      deleted += await outbox.purge(keptSince(now, keepMillis.notices));
      deleted += await alerts.purge(keptSince(now, keepMillis.notices));
      deleted += await upkeep.purgeBudgets(keptSince(now, keepMillis.budgets));
      deleted += await upkeep.purgeTicks(keptSince(now, keepMillis.ticks));
      if (auditKeepDays !== null) deleted += await audit.purge(keptSince(now, auditKeepDays * 86_400_000));
      if (keepDays !== null) deleted += await upkeep.purgeHistory(keptSince(now, keepDays * 86_400_000));
      // Last, because a backup that cannot be deleted must not keep the rest.
      deleted += upkeep.removeBackups(now - backupKeepMillis).length;
      return deleted;
    },
  };
}
