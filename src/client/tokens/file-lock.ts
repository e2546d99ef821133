import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Fault } from '../../domain/fault.js';
import type { Clock } from '../../runtime/clock.js';
import type { Interruption } from '../../runtime/interruption.js';
import { isRunning } from '../../runtime/process-identity.js';
import { unwritable } from './unwritable.js';

/*
 * One holder at a time across processes. The lock is a file that is linked into place with its content already in
 * it, so nobody ever sees an empty one; it says who holds it. A holder that died leaves it behind: on this host
 * its process is gone, or its number belongs to a process that started at another time; from another host only
 * age can tell. A lock may be deleted only by who holds the right to, which is a lock of the same kind named after
 * its holder: between a finder's look and its deletion nobody else can put a living lock in the dead one's place.
 * Because a stalled holder may be taken for dead, it asks `isMine` before it writes.
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
  readonly signal: Interruption;
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
    // A disk too full for one more name still lets go of this one.
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
      if (signal.aborted) throw new Fault('stopped', 'stopped while waiting for the credentials file');
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

/** `me` is a file that says who removes. False when somebody else is about to; who died at it is followed likewise. */
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

/** Undefined when there is none. What cannot be read as a holder is nobody's and counts as stale. */
async function readHolder(path: string): Promise<Holder | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    const holder = JSON.parse(text) as Holder;
    // It becomes part of a file's name.
    if (/^[\w-]{1,64}$/.test(holder.nonce)) return holder;
  } catch {}
  return { nonce: '', pid: 0, host: '', processStart: 0, at: 0 };
}
