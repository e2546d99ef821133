import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning, processSpace } from '../runtime/process-identity.js';

/** The folders that this process works in. */
const used = new Set<string>();

/** Runs `work` with a new, private folder and removes the folder afterwards. */
export async function inQueryFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), `rosterd-query-${process.pid}-${processSpace()}-`));
  used.add(folder);
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    used.delete(folder);
  }
}

const shape = /^rosterd-query-(\d{1,10})-(\d*-[\da-f]*)-[A-Za-z0-9]{6}$/;

/** A process that this one cannot look for, in another container for example, has ended after this time. */
const strangeMillisMax = 86_400_000;

/** Removes the folders of this user whose process was killed: a file in them may have names. Follows no symbolic link. */
export function removeQueryFolders(now: number): void {
  for (const name of namesIn(tmpdir())) {
    const [, pid, space] = shape.exec(name) ?? [];
    const folder = join(tmpdir(), name);
    if (pid === undefined || used.has(folder)) continue;
    try {
      const stats = lstatSync(folder);
      if (!stats.isDirectory() || stats.uid !== process.getuid?.()) continue;
      const isLeft =
        space === processSpace()
          ? // An earlier process may have had the number of this one.
            Number(pid) === process.pid || !isRunning(Number(pid))
          : stats.mtimeMs < now - strangeMillisMax;
      if (isLeft) rmSync(folder, { recursive: true, force: true });
    } catch {
      // Another process removed it first.
    }
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
