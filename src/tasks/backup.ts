import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../domain/defined.js';
import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { writtenFile } from '../runtime/file-behind.js';
import { packageVersion } from '../runtime/package-version.js';
import { requireReplaceable } from '../runtime/replaceable.js';
import { statOf } from '../runtime/same-file.js';
import { backUpApart } from '../store/back-up-apart.js';
import { scheduledName } from '../store/backup/file-names.js';
import type { BackupMade } from '../store/backup/made.js';
import { type DatabaseLocation, locationText } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { refuseOwnFile } from '../store/own-file.js';

export type { BackupMade } from '../store/backup/made.js';

export interface BackupRequest {
  readonly location: DatabaseLocation;
  /**
   * A file, or a folder, in which the backup is named like a scheduled one. Links are followed. A missing folder is created, as
   * that of scheduled backups is.
   */
  readonly target: string;
  /** Whether `target` is a folder also if nothing is there. */
  readonly isFolder: boolean;
  /** Replaces an existing file. */
  readonly force: boolean;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  onShare?(share: number): void;
}

/**
 * Writes a verified backup of a mirror with mode 0600, while daemons go on working. It contains the database alone: no
 * configuration and no credentials. Throws `usage` for an existing file without `force` and for the mirror's own files.
 */
export async function backUp(request: BackupRequest): Promise<BackupMade> {
  const { location, force, clock, env, signal, onShare } = request;
  const dialect = dialectFor(location);
  const target = targetOf(request);
  requireReplaceable(target);
  const file = writtenFile(target);
  refuseOwnFile(location, file);
  if (existsSync(target) && !force)
    throw new Fault('usage', `${target} exists`, { hint: 'name another file, or add --force to replace it' });
  if (!(await dialect.exists()))
    throw new Fault('database_unusable', `${locationText(location)} holds no mirror yet`, {
      hint: 'Run `rosterd sync` or `rosterd run` first: they create and fill it.',
    });
  const parts = { clock, env, signal, version: packageVersion() };
  const made = await backUpApart(location, file, { ...parts, ...defined({ onShare }) });
  return { ...made, file: target };
}

function targetOf({ location, target, isFolder, clock }: BackupRequest): string {
  if (!isFolder && statOf(target)?.isDirectory() !== true) return target;
  return join(target, scheduledName(dialectFor(location).backupNames, clock.now()));
}
