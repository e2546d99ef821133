import { readFileSync } from 'node:fs';
import { link, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../domain/fault.js';
import type { Clock } from '../../runtime/clock.js';
import { isSharedProcessGone, processName } from '../../runtime/process-identity.js';
import { type Random, randomText } from '../../runtime/random.js';
import { lockName } from './layout.js';

/** The holder shows by the file's time that it is alive: its process may be of another host or container. */
const aliveMillis = 60_000;
const staleMillis = 15 * aliveMillis;

/**
 * Runs `work` while no other process writes to the lake. The lock of a process that ended is taken over, and one that
 * was not renewed for 15 minutes. Throws `database_busy` while another process holds it.
 */
export async function withLakeLock<Result>(
  folder: string,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  work: () => Promise<Result>,
): Promise<Result> {
  const path = join(folder, lockName);
  const token = randomText(random, 12);
  const own = `${path}.${token}`;
  const me = `${processName()}:${token}`;
  await writeFile(own, me, { flag: 'wx', mode: 0o600 });
  try {
    if (!(await linked(own, path))) await takeOver(own, path, token, clock);
  } finally {
    await rm(own, { force: true });
  }
  const done = new AbortController();
  const renewing = renew(path, clock, done.signal);
  try {
    return await work();
  } finally {
    done.abort();
    await renewing;
    if (textOf(path) === me) await rm(path, { force: true });
  }
}

async function renew(path: string, clock: Clock, done: AbortSignal): Promise<void> {
  for (;;) {
    await clock.wait(aliveMillis, done);
    if (done.aborted) return;
    const now = clock.now() / 1_000;
    await utimes(path, now, now).catch(() => {});
  }
}

async function isStale(path: string, holder: string, clock: Clock): Promise<boolean> {
  if (holder === '' || isSharedProcessGone(holder)) return true;
  const written = await stat(path).catch(() => null);
  return written === null || clock.now() - written.mtimeMs > staleMillis;
}

async function takeOver(own: string, path: string, token: string, clock: Clock): Promise<void> {
  const holder = textOf(path);
  if (!(await isStale(path, holder, clock))) throw busy(path, holder);
  // Another process may take it over at the same moment: only one of them moves the file that was read.
  const aside = `${path}.${token}.old`;
  await rename(path, aside).catch(() => {});
  const moved = textOf(aside);
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
