import type { Config } from '../config/config.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import { madeBy } from '../store/backup/file-names.js';
import { isAhead } from '../store/reads/judge-source.js';
import { isOverdue } from './backups.js';
import { mirrorName, publishedExports } from './exports-folder.js';
import { lakeSyncedAt } from './lake.js';

/** What is known about the scheduled exports of a mirror on this host. */
export interface ExportsSeen {
  readonly folder: string;
  readonly every_seconds: number;
  readonly keep: number;
  readonly count: number;
  /** The newest one that is not dated in the future; null before the first. */
  readonly newest_at: Instant | null;
  readonly newest_folder: string | null;
  /** Whether the next one should have been made by now. */
  readonly overdue: boolean;
}

/** What is known about the lake that the daemon of this host keeps. */
export interface LakeSeen {
  readonly folder: string;
  readonly every_seconds: number;
  /** When it was last compared with the mirror; null before the first time, and when it cannot be read. */
  readonly synced_at: Instant | null;
  /** Whether it should have been compared again by now. */
  readonly overdue: boolean;
}

/** Returns null without a schedule. Never throws: a folder that cannot be read has no exports. */
export function exportsSeen({ exports, database }: Config, now: number): ExportsSeen | null {
  const { everyMillis, folder, keep } = exports;
  if (everyMillis === null) return null;
  const found = orElse([], () => publishedExports(folder, mirrorName(database)).exports);
  const newest = madeBy(found, now)[0];
  const newest_at = newest?.made_at ?? null;
  return {
    folder,
    every_seconds: everyMillis / 1_000,
    keep,
    count: found.length,
    newest_at,
    newest_folder: newest?.folder ?? null,
    overdue: isOverdue(newest_at, everyMillis, now),
  };
}

/** Returns null without a schedule. Never throws. */
export function lakeSeen({ lake }: Config, now: number): LakeSeen | null {
  const { everyMillis, folder } = lake;
  if (everyMillis === null) return null;
  const millis = orElse(null, () => lakeSyncedAt(folder));
  const synced_at = millis === null ? null : instantFromMillis(millis);
  // A time in the future was written by a clock that was ahead.
  const overdue = isAhead(synced_at, now) || isOverdue(synced_at, everyMillis, now);
  return {
    folder,
    every_seconds: everyMillis / 1_000,
    synced_at,
    overdue,
  };
}

function orElse<Result>(other: Result, read: () => Result): Result {
  try {
    return read();
  } catch {
    return other;
  }
}
