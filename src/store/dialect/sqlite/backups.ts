import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Copies made before a migration hold everybody's identity: they are kept for a way back, and not for ever. */
export const backupKeepMillis = 30 * 86_400_000;

export interface Backup {
  readonly file: string;
  readonly madeAt: number;
}

/** Whole and unfinished copies of this database, oldest first. */
export function backupsOf(file: string): readonly Backup[] {
  const folder = dirname(file);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(file)}.schema-`) && /\.bak(?:\.(?:\d+\.)?tmp)?$/.test(name))
    .map((name) => join(folder, name))
    .flatMap((path) => {
      // Whoever else erases removes them too, maybe this very moment.
      const made = statSync(path, { throwIfNoEntry: false });
      return made === undefined ? [] : [{ file: path, madeAt: made.mtimeMs }];
    })
    .sort((a, b) => a.madeAt - b.madeAt);
}

/** Removes those made before `before`; answers their names. */
export function removeBackups(file: string, before: number): readonly string[] {
  const old = backupsOf(file).filter(({ madeAt }) => madeAt < before);
  for (const backup of old) rmSync(backup.file, { force: true });
  return old.map((backup) => backup.file);
}
