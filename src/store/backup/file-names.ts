import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Instant, instantFromMillis, millisOf, parseInstant } from '../../domain/instant.js';

/** How scheduled backups of one mirror are called, around the time. */
export interface BackupNames {
  /** The name of the mirror's file or database. */
  readonly stem: string;
  readonly end: string;
}

/** Returns a time as it appears in file names: `20261123T114500Z`. */
export const stampOf = (millis: number): string =>
  `${instantFromMillis(millis).slice(0, 19).replaceAll(/[-:]/g, '')}Z`;

export const scheduledName = ({ stem, end }: BackupNames, millis: number): string =>
  `${stem}-${stampOf(millis)}${end}`;

export interface ScheduledBackup {
  readonly file: string;
  readonly made_at: Instant;
  readonly bytes: number;
}

const nameShape = /^(.+)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z(\.[a-z.]+)$/;

/** Whether a file name is that of a scheduled backup, of any mirror. */
export const isScheduledName = (name: string): boolean => nameShape.test(name);

/**
 * Returns the scheduled backups of one mirror in a folder, newest first. Unfinished ones have other names. Returns none
 * for a folder that does not exist yet.
 */
export function scheduledBackups(folder: string, { stem, end }: BackupNames): readonly ScheduledBackup[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => {
      const [, of, year, month, day, hour, minute, second, ended] = nameShape.exec(name) ?? [];
      const made_at = parseInstant(`${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`);
      if (of !== stem || ended !== end || made_at === undefined) return [];
      const file = join(folder, name);
      // Another process may remove a backup at the same moment.
      const stats = statSync(file, { throwIfNoEntry: false });
      return stats?.isFile() === true ? [{ file, made_at, bytes: stats.size }] : [];
    })
    .sort((a, b) => (a.made_at < b.made_at ? 1 : -1));
}

/** The tolerated difference between the clocks of hosts. */
const aheadMillisMax = 60_000;

interface Made {
  readonly made_at: Instant;
}

const isAhead = ({ made_at }: Made, now: number) => millisOf(made_at) - now > aheadMillisMax;

/**
 * Returns the backups that are not dated in the future. One that is was named by a clock that was ahead: it must neither
 * postpone the next backup nor count as one of those that are kept.
 */
export const madeBy = <One extends Made>(backups: readonly One[], now: number): readonly One[] =>
  backups.filter((one) => !isAhead(one, now));

/** Returns those that are dated in the future, which no schedule deletes. */
export const madeAhead = <One extends Made>(backups: readonly One[], now: number): readonly One[] =>
  backups.filter((one) => isAhead(one, now));
