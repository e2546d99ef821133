import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Fault } from '../../domain/fault.js';
import type { Clock } from '../../runtime/clock.js';

/*
 * One holder at a time across processes. The lock is a file that is linked into place with its content already in
 * it, so nobody ever sees an empty one; it says who holds it. A holder that died leaves it behind: on this host
 * its process is gone, or its number belongs to a process that started at another time; from another host only
 * age can tell. Whoever finds it stale moves it aside, which one of several finders succeeds in, and all compete
 * anew. Because a stalled holder may be taken for dead, it asks `isMine` before it writes.
 */

interface Holder {
  readonly nonce: string;
  readonly pid: number;
  readonly host: string;
  readonly processStart: number;
  readonly at: number;
}

/** Longer than a refresh with all its retries can take. */
const staleMillis = 5 * 60_000;
const waitMillisMax = 30_000;
const pollMillis = 50;

export interface LockParts {
  readonly path: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function withFileLock<Result>(
  parts: LockParts,
  work: (isMine: () => Promise<boolean>) => Promise<Result>,
): Promise<Result> {
  const nonce = await acquire(parts);
  const isMine = async () => (await readHolder(parts.path))?.nonce === nonce;
  try {
    return await work(isMine);
  } finally {
    if (await isMine()) await rm(parts.path, { force: true });
  }
}

async function acquire({ path, clock, signal }: LockParts): Promise<string> {
  const nonce = randomUUID();
  const own = `${path}.${nonce}`;
  const from = clock.monotonic();
  try {
    while (clock.monotonic() - from < waitMillisMax) {
      if (signal.aborted) throw new Fault('stopped', 'stopped while waiting for the credentials file');
      const me: Holder = {
        nonce,
        pid: process.pid,
        host: hostname(),
        processStart: performance.timeOrigin,
        at: clock.now(),
      };
      await writeFile(own, JSON.stringify(me), { mode: 0o600 });
      if (await linked(own, path)) return nonce;
      const holder = await readHolder(path);
      if (holder !== undefined && isStale(holder, clock.now())) await moveAside(path, own, holder);
      else await clock.wait(pollMillis, signal);
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
    throw new Fault('usage', `the folder of ${path} cannot be written`, { cause: error });
  }
}

/** Moving succeeds for one finder only. If a live lock was caught between our look and our move, it is put back. */
async function moveAside(path: string, own: string, stale: Holder): Promise<void> {
  const aside = `${own}.stale`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const caught = await readHolder(aside);
  if (caught !== undefined && caught.nonce !== stale.nonce) await linked(aside, path);
  await rm(aside, { force: true });
}

function isStale(holder: Holder, now: number): boolean {
  if (Math.abs(now - holder.at) > staleMillis) return true;
  if (holder.host !== hostname()) return false;
  if (holder.pid === process.pid) return holder.processStart !== performance.timeOrigin;
  return !isAlive(holder.pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not being allowed to signal it means that it is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Undefined when there is none. What cannot be read as a holder is nobody's and counts as stale. */
async function readHolder(path: string): Promise<Holder | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return { nonce: '', pid: 0, host: '', processStart: 0, at: 0 };
  }
}
