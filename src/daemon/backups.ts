import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BackupConfig } from '../config/config.js';
import { millisOf } from '../domain/instant.js';
import type { Closable } from '../runtime/lifecycle.js';
import { type BackupNames, madeBy, scheduledBackups, scheduledName } from '../store/backup/file-names.js';
import type { BackupMade } from '../store/backup/made.js';
import { type FileScheduleParts, startFileSchedule } from './file-schedule.js';
import { type FormerLeader, outlived } from './former-leader.js';

export interface BackupsParts
  extends FormerLeader,
    Pick<FileScheduleParts, 'clock' | 'logger' | 'register' | 'leads' | 'isFilled'> {
  readonly settings: BackupConfig & { readonly everyMillis: number };
  readonly names: BackupNames;
  backUp(target: string, signal: AbortSignal): Promise<BackupMade>;
}

/**
 * Makes backups on a schedule and deletes the oldest ones. Files dated in the future are ignored. While
 * another daemon leads, this one makes none, so it deletes those from the time when it led by their age.
 */
export function startBackups({ settings, names, backUp, ...parts }: BackupsParts): Closable {
  const { clock, logger } = parts;
  const { folder, everyMillis, keep } = settings;
  return startFileSchedule({
    ...parts,
    key: 'backup',
    name: 'backup',
    everyMillis,
    tend: async () => {
      for (const { file } of await outlived(parts, () => scheduledBackups(folder, names), settings)) {
        rmSync(file, { force: true });
        logger.info({ file }, 'deleted a backup that this daemon made when it led');
      }
    },
    newestAt: () => {
      const newest = madeBy(scheduledBackups(folder, names), clock.now())[0];
      return newest === undefined ? null : millisOf(newest.made_at);
    },
    make: async (signal) => {
      const made = await backUp(join(folder, scheduledName(names, clock.now())), signal);
      logger.info({ file: made.file, count: made.rows }, 'the mirror was backed up');
      if (made.note !== null) logger.debug({ hint: made.note }, 'the backup has another format');
      const found = scheduledBackups(folder, names);
      const real = madeBy(found, clock.now());
      for (const { file } of real.slice(keep)) rmSync(file, { force: true });
      const [ahead] = found.filter((one) => !real.includes(one));
      if (ahead !== undefined)
        logger.warn(
          { file: ahead.file },
          'a backup is dated in the future and is never deleted automatically: rename or delete it',
        );
    },
  });
}
