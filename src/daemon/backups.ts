import { join } from 'node:path';
import type { BackupConfig } from '../config/config.js';
import { millisOf } from '../domain/instant.js';
import type { Closable } from '../runtime/lifecycle.js';
import {
  type BackupNames,
  madeAhead,
  madeBy,
  type ScheduledBackup,
  scheduledBackups,
  scheduledName,
} from '../store/backup/file-names.js';
import type { BackupMade } from '../store/backup/made.js';
import { removeAbandonedBackups } from '../store/backup/private-target.js';
import { type RemoveFile, removeEach } from '../store/backup/remove-each.js';
import { type FileScheduleParts, startFileSchedule } from './file-schedule.js';
import { type FormerLeader, outlived } from './former-leader.js';

export interface BackupsParts
  extends FormerLeader,
    Pick<FileScheduleParts, 'clock' | 'logger' | 'register' | 'leads' | 'isFilled'> {
  readonly settings: BackupConfig & { readonly everyMillis: number };
  readonly names: BackupNames;
  backUp(target: string, signal: AbortSignal): Promise<BackupMade>;
  /** Tells the other daemons that the leader has a recent backup, wherever it is. */
  announce(): void;
  /** When the leader last announced that; null if it never did. */
  announcedAt(): number | null;
  /** Deletes a file (default: as the system does). */
  readonly removeFile?: RemoveFile;
}

/**
 * Makes backups on a schedule and deletes the oldest ones. Files dated in the future are ignored. While
 * another daemon leads, this one makes none, so it deletes those from the time when it led by their age: the newest one only
 * while the leader announces newer ones, because it may be the last one that the fleet has.
 */
export function startBackups({ settings, names, backUp, ...parts }: BackupsParts): Closable {
  const { clock, logger } = parts;
  const { folder, everyMillis, keep } = settings;
  const newestAt = (): number | null => {
    const newest = madeBy(scheduledBackups(folder, names), clock.now())[0];
    return newest === undefined ? null : millisOf(newest.made_at);
  };
  /** Returns those it deleted, and the fault for those that the system does not let this user delete. */
  const remove = (old: readonly ScheduledBackup[]) => {
    const files = old.map(({ file }) => file);
    return removeEach(files, 'old backups', parts.removeFile);
  };
  /** Whether the leader may not yet have deleted all that are too old. One that ran before may have failed to. */
  let isPruneDue = true;
  // An announced backup is no older than one interval. Another one is for clocks that differ.
  const mayLoseNewest = (millis: number) => (parts.announcedAt() ?? millis) - 2 * everyMillis > millis;
  return startFileSchedule({
    ...parts,
    key: 'backup',
    name: 'backup',
    everyMillis,
    tend: [
      // The next backup would do the same: here that may be in days, or never where another daemon leads.
      async () => {
        for (const file of removeAbandonedBackups(folder, clock.now()))
          logger.info({ file }, 'deleted what a killed process left of a backup');
      },
      async () => {
        const newest = parts.leads() ? newestAt() : null;
        if (newest !== null && clock.now() - newest <= everyMillis) parts.announce();
      },
      async () => {
        const kept = { everyMillis, keep, mayLoseNewest };
        const { removed, fault } = remove(await outlived(parts, () => scheduledBackups(folder, names), kept));
        for (const file of removed)
          logger.info({ file }, 'deleted a backup that this daemon made when it led');
        if (fault !== null) throw fault;
      },
      async () => {
        if (!isPruneDue || !parts.leads()) return;
        const { fault } = remove(madeBy(scheduledBackups(folder, names), clock.now()).slice(keep));
        if (fault !== null) throw fault;
        isPruneDue = false;
      },
    ],
    newestAt,
    make: async (signal) => {
      const made = await backUp(join(folder, scheduledName(names, clock.now())), signal);
      isPruneDue = true;
      logger.info({ file: made.file, count: made.rows }, 'the mirror was backed up');
      if (made.note !== null) logger.debug({ hint: made.note }, 'the backup has another format');
      const [ahead] = madeAhead(scheduledBackups(folder, names), clock.now());
      if (ahead !== undefined)
        logger.warn(
          { file: ahead.file },
          'a backup is dated in the future and is never deleted automatically: rename or delete it',
        );
    },
  });
}
