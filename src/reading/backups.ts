import type { Config } from '../config/config.js';
import { type Instant, millisOf } from '../domain/instant.js';
import { madeBy, scheduledBackups } from '../store/backup/file-names.js';
import { dialectFor } from '../store/dialect/dialect-for.js';

/** What is known about the scheduled backups of a mirror on this host. */
export interface BackupsSeen {
  readonly folder: string;
  readonly every_seconds: number;
  readonly keep: number;
  readonly count: number;
  /** The newest one that is not dated in the future; null before the first. */
  readonly newest_at: Instant | null;
  readonly newest_file: string | null;
  readonly newest_bytes: number | null;
  /** Whether the next one should have been made by now. */
  readonly overdue: boolean;
}

/** Files take time to write, and a daemon may be restarted when they are due. */
const graceMillis = 60 * 60_000;

/** Whether the next files of a schedule should have been made by now. False before the first. */
export const isOverdue = (newestAt: Instant | null, everyMillis: number, now: number): boolean =>
  newestAt !== null && now - millisOf(newestAt) > everyMillis + graceMillis;

/** Returns null when no schedule is configured. Never throws: a folder that cannot be read has no backups. */
export function backupsSeen(config: Config | null | undefined, now: number): BackupsSeen | null {
  const { everyMillis = null, folder = '', keep = 0 } = config?.backup ?? {};
  if (config == null || everyMillis === null) return null;
  const found = backupsIn(folder, config);
  const newest = madeBy(found, now)[0];
  return {
    folder,
    every_seconds: everyMillis / 1_000,
    keep,
    count: found.length,
    newest_at: newest?.made_at ?? null,
    newest_file: newest?.file ?? null,
    newest_bytes: newest?.bytes ?? null,
    overdue: isOverdue(newest?.made_at ?? null, everyMillis, now),
  };
}

function backupsIn(folder: string, { database }: Config) {
  try {
    return scheduledBackups(folder, dialectFor(database).backupNames);
  } catch {
    return [];
  }
}
