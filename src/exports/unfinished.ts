import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isRunning, processSpace } from '../runtime/process-identity.js';

/*
 * An export is written under a name of its own beside its file: `.FILE.PID-SPACE.tmp-RANDOM`, a file or a folder. It may
 * have every name of the mirror, so the next export to the same file removes what a killed process left.
 */

/** Returns the path of an unfinished export without the random end of its name. */
export const unfinishedStart = (file: string): string =>
  join(dirname(file), `.${basename(file)}.${process.pid}-${processSpace()}.tmp-`);

const shape = /^\.(.+)\.(\d{1,10})-(\d*-[\da-f]*)\.tmp-[A-Za-z0-9]+$/;

/** The unfinished exports of this process. */
const writing = new Set<string>();

/** Runs `work`, during which `unfinished` is not taken for abandoned, and removes it afterwards if it is still there. */
export async function whileUnfinished<Result>(
  unfinished: string,
  file: string,
  work: () => Promise<Result>,
): Promise<Result> {
  writing.add(unfinished);
  try {
    await removeAbandoned(file, unfinished);
    return await work();
  } finally {
    await rm(unfinished, { recursive: true, force: true });
    writing.delete(unfinished);
  }
}

/** A process that this one cannot look for, in another container for example, has ended after this time. */
const strangeMillisMax = 86_400_000;

/** Removes the unfinished exports to `file` whose process has ended. One that cannot be removed stops no export. */
async function removeAbandoned(file: string, own: string): Promise<void> {
  const folder = dirname(file);
  // By the clock of the disk, like the times that it is compared with.
  const now = (await lstat(own).catch(() => null))?.mtimeMs ?? 0;
  for (const entry of await readdir(folder).catch(() => [])) {
    const [, name, pid, space] = shape.exec(entry) ?? [];
    const path = join(folder, entry);
    if (name !== basename(file) || writing.has(path)) continue;
    const isHere = space === processSpace();
    // An earlier process may have had the number of this one.
    const hasEnded = Number(pid) === process.pid || !isRunning(Number(pid));
    const isAbandoned = isHere ? hasEnded : await isOlder(path, now - strangeMillisMax);
    if (isAbandoned) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

const isOlder = async (path: string, time: number): Promise<boolean> =>
  await lstat(path).then(
    ({ mtimeMs }) => mtimeMs < time,
    () => false,
  );
