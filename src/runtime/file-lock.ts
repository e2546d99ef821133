import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../domain/fault.js';
import type { Clock } from './clock.js';
import { giveTo, ownerIn } from './file-owner.js';
import type { Interruption } from './interruption.js';
import { isRunning } from './process-identity.js';
import { unwritable } from './unwritable.js';

/*
 * A lock across processes. The lock file is linked into place with its content already written, so it is never seen
 * empty; the content identifies the holder.
 *
 * A holder that died leaves the file behind. On this host the lock is stale when its process is gone or its pid
 * belongs to a process started at another time; for another host only age can tell. Deleting a stale lock needs a
 * second lock of the same kind, named after the stale holder: between the check and the deletion no process can put a
 * live lock in its place. A stalled holder may be considered dead, so it calls `isMine` before it writes.
 */

interface Holder {
  readonly nonce: string;
  readonly pid: number;
  readonly host: string;
  readonly processStart: number;
  readonly at: number;
}

/** The length of a UUID. */
const nonceLength = 36;
/** Longer than a refresh with all its retries. */
const staleMillis = 5 * 60_000;
const waitMillisMax = 30_000;
const pollMillis = 50;

export interface LockParts {
  readonly path: string;
  readonly clock: Clock;
  readonly signal: Interruption;
}

export async function withFileLock<Result>(
  parts: LockParts,
  work: (isMine: () => Promise<boolean>) => Promise<Result>,
): Promise<Result> {
  const nonce = await acquire(parts);
  const isMine = async () => (await readHolder(parts.path))?.nonce === nonce;
  await removeLeft(parts).catch(() => {});
  try {
    return await work(isMine);
  } finally {
    // A full disk may not allow the second lock's file; the lock is still released.
    const { path, clock } = parts;
    if (await isMine()) await remove(path, nonce, path, clock).catch(() => rm(path, { force: true }));
  }
}

async function acquire({ path, clock, signal }: LockParts): Promise<string> {
  const nonce = randomUUID();
  const own = `${path}.${nonce}`;
  const from = clock.monotonic();
  try {
    while (clock.monotonic() - from < waitMillisMax) {
      if (signal.aborted) throw new Fault('stopped', 'stopped while waiting for a lock');
      const me: Holder = {
        nonce,
        pid: process.pid,
        host: hostname(),
        processStart: performance.timeOrigin,
        at: clock.now(),
      };
      await writeFile(own, JSON.stringify(me), { mode: 0o600 }).catch((error: unknown) => {
        throw unwritable(`the lock ${path}`, error);
      });
      // If root is killed with it, the user of the folder has to read that its holder has ended.
      giveTo(ownerIn(dirname(path)), own);
      if (await linked(own, path)) return nonce;
      const holder = await readHolder(path);
      const stale = holder !== undefined && isStale(holder, clock.now());
      if (!stale || !(await remove(path, holder.nonce, own, clock))) await clock.wait(pollMillis, signal);
    }
  } finally {
    await rm(own, { force: true });
  }
  throw new Fault('unreachable', `another process has held ${path} for ${waitMillisMax / 1000} seconds`, {
    hint: `if no other rosterd is running, delete ${path}`,
  });
}

async function linked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw unwritable(`the lock ${path}`, error);
  }
}

/**
 * Deletes a stale lock. `me` is a file that identifies the deleting process. Returns false when another process is
 * deleting the lock. If that process died while doing so, its lock is removed in the same way.
 */
async function remove(path: string, nonce: string, me: string, clock: Clock): Promise<boolean> {
  const right = `${path}.after.${nonce}`;
  if (!(await linked(me, right))) {
    const other = await readHolder(right);
    if (other !== undefined && isStale(other, clock.now())) await remove(right, other.nonce, me, clock);
    return false;
  }
  try {
    if ((await readHolder(path))?.nonce === nonce) await rm(path, { force: true });
  } finally {
    await rm(right, { force: true });
  }
  return true;
}

function isStale(holder: Holder, now: number): boolean {
  if (Math.abs(now - holder.at) > staleMillis) return true;
  if (holder.host !== hostname()) return false;
  if (holder.pid === process.pid) return holder.processStart !== performance.timeOrigin;
  return !isRunning(holder.pid);
}

/** Removes the files of processes that were killed while they waited for this lock. */
async function removeLeft({ path, clock }: LockParts): Promise<void> {
  const start = `${basename(path)}.`;
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(start) || name.length !== start.length + nonceLength) continue;
    const own = join(dirname(path), name);
    const holder = await readHolder(own);
    // While a waiting process writes its file, that is empty and names no holder.
    if (holder?.nonce === name.slice(start.length) && isStale(holder, clock.now()))
      await rm(own, { force: true });
  }
}

/** Returns the holder, or undefined without a lock file. An unreadable lock file has no holder and counts as stale. */
async function readHolder(path: string): Promise<Holder | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    const holder = JSON.parse(text) as Holder;
    // The nonce becomes part of a file name.
    if (/^[\w-]{1,64}$/.test(holder.nonce)) return holder;
  } catch {}
  return { nonce: '', pid: 0, host: '', processStart: 0, at: 0 };
}
