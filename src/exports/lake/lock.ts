import { readFileSync } from 'node:fs';
import { link, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../domain/fault.js';
import { type Clock, systemClock } from '../../runtime/clock.js';
import { giveTo, ownerIn } from '../../runtime/file-owner.js';
import { isProcessThere, isSharedProcessGone, processName } from '../../runtime/process-identity.js';
import { type Random, randomText } from '../../runtime/random.js';
import { lockName } from './layout.js';

/** The holder shows by the file's time that it is alive: its process may be of another host or container. */
const aliveMillis = 60_000;
const staleMillis = 15 * aliveMillis;

export interface LockParts {
  readonly clock: Clock;
  readonly random: Random;
}

export interface LakeLock {
  /** Throws `database_busy` when another process has taken the lock over. */
  confirm(): void;
}

/**
 * Runs `work` while no other process writes to the lake. The lock of a process that ended is taken over. So is one that
 * was not renewed for 15 minutes, or whose time is as far in the future, unless its process is known to run on this machine: a
 * clock that jumped or a suspended machine makes it look old. Throws `database_busy` while another process holds it.
 */
export async function withLakeLock<Result>(
  folder: string,
  { clock, random }: LockParts,
  work: (lock: LakeLock) => Promise<Result>,
): Promise<Result> {
  const path = join(folder, lockName);
  const token = randomText(random, 12);
  const own = `${path}.${token}`;
  const me = `${processName()}:${token}`;
  try {
    await writeFile(own, me, { flag: 'wx', mode: 0o600 });
    // The user of the lake must be able to read the holder: an unreadable lock counts as stale.
    giveTo(ownerIn(folder), own);
    if (!(await linked(own, path))) await takeOver(own, path, token);
  } finally {
    await rm(own, { force: true });
  }
  const done = new AbortController();
  const renewing = renew(path, me, clock, done.signal);
  try {
    return await work({
      confirm: () => {
        if (textOf(path) !== me) throw lost(path);
      },
    });
  } finally {
    done.abort();
    await renewing;
    if (textOf(path) === me) await rm(path, { force: true });
  }
}

/** Whether a file of the lake is a lock that never got its name: its process was killed, or had no room to write it. */
export async function isLeftLock(folder: string, name: string): Promise<boolean> {
  return name.startsWith(`${lockName}.`) && (await isOld(join(folder, name)));
}

/**
 * The file's time is read by other processes, so both sides use the time of the system. The given clock may have stood
 * still while the machine was suspended.
 */
async function renew(path: string, me: string, clock: Clock, done: AbortSignal): Promise<void> {
  for (;;) {
    await clock.wait(aliveMillis, done);
    if (done.aborted) return;
    if (textOf(path) !== me) continue;
    const now = systemClock.now() / 1_000;
    await utimes(path, now, now).catch(() => {});
  }
}

async function isStale(path: string, holder: string): Promise<boolean> {
  if (holder === '' || isSharedProcessGone(holder)) return true;
  if (isProcessThere(holder)) return false;
  return await isOld(path);
}

async function isOld(path: string): Promise<boolean> {
  const written = await stat(path).catch(() => null);
  // A holder that is alive and whose clock was ahead has renewed it since, with the right time.
  return written === null || Math.abs(systemClock.now() - written.mtimeMs) > staleMillis;
}

async function takeOver(own: string, path: string, token: string): Promise<void> {
  const holder = textOf(path);
  if (!(await isStale(path, holder))) throw busy(path, holder);
  // Another process may take it over at the same moment: only one of them moves the file that was read.
  const aside = `${path}.${token}.old`;
  const moved = await rename(path, aside).then(
    () => textOf(aside),
    () => holder,
  );
  if (moved !== holder) await linked(aside, path);
  await rm(aside, { force: true });
  if (moved !== holder || !(await linked(own, path))) throw busy(path, textOf(path));
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function busy(path: string, holder: string): Fault {
  const [host = 'another host', pid = '?'] = holder.split(':');
  return new Fault('database_busy', `another process writes to this lake (${host}, process ${pid})`, {
    hint: `Wait for it. If it no longer exists, delete ${path}.`,
  });
}

function lost(path: string): Fault {
  return new Fault('database_busy', `another process took over ${path} while this one wrote to the lake`, {
    hint: 'The lake is as the other process left it. Run the command again.',
  });
}
