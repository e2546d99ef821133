import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Instant, instantFromMillis, millisOf } from '../../../domain/instant.js';
import { removeAbandoned } from '../../backup/private-target.js';
import { removeEach } from '../../backup/remove-each.js';
import type { SqliteConnection } from './connect.js';
import { withSqliteFaults } from './faults.js';

/** How long backups made before a migration are kept. They contain personal data, so not forever. */
export const backupKeepMillis = 30 * 86_400_000;

export interface Backup {
  readonly file: string;
  readonly madeAt: number;
}

/** Returns the complete and unfinished backups of this database, oldest first. */
export function backupsOf(file: string): readonly Backup[] {
  const folder = dirname(file);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(file)}.schema-`) && /\.bak(?:\.(?:\d+\.)?tmp)?$/.test(name))
    .map((name) => join(folder, name))
    .flatMap((path) => {
      // Another process may remove a backup at the same moment.
      const stats = statSync(path, { throwIfNoEntry: false });
      return stats === undefined ? [] : [{ file: path, madeAt: stats.mtimeMs }];
    })
    .sort((a, b) => a.madeAt - b.madeAt);
}

/**
 * Removes backups made before `before`, and copies that a killed `restore` left unfinished, whenever they were made.
 * Returns their paths. Throws `usage`, after the others, for backups that the system does not let this user delete.
 */
export function removeBackups(file: string, before: number): readonly string[] {
  const old = backupsOf(file).filter(({ madeAt }) => madeAt < before);
  const { removed, fault } = removeEach(
    old.map((backup) => backup.file),
    'backups made before a schema migration',
  );
  const abandoned = removeAbandoned(dirname(file), (name) => name === basename(file), before);
  if (fault !== null) throw fault;
  return [...removed, ...abandoned];
}

/**
 * Replaced values are left in the backups for as long as these are kept. A scrub in the future was dated by a clock that was
 * ahead: it would delete the backup that a migration makes today.
 */
const lastErasure = `
  SELECT EXISTS (SELECT 1 FROM erasures WHERE scrubbed_at IS NULL) AS pending,
         (SELECT scrubbed_at FROM erasures WHERE cause <> 'removed' AND scrubbed_at <= ?
          ORDER BY erasure DESC LIMIT 1) AS scrubbed_at`;

/**
 * Removes the backups that contain people who were erased since: those made before the last erasure was scrubbed, and all of
 * them while one is pending. Throws as `removeBackups`.
 */
export function removeErasedBackups({ raw, file }: SqliteConnection, now: number): void {
  const last = withSqliteFaults(file, () =>
    raw
      .prepare<[Instant], { pending: 0 | 1; scrubbed_at: Instant | null }>(lastErasure)
      .get(instantFromMillis(now)),
  );
  if (last?.pending === 1) removeBackups(file, Number.POSITIVE_INFINITY);
  else if (last?.scrubbed_at != null) removeBackups(file, millisOf(last.scrubbed_at));
}
