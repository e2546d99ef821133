// A lock between processes on one host: a file with the pid of its holder.
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMillis = 50;
/** The longest wait without a message to the user. */
const noteAfterMillis = 1_000;

/**
 * Runs the work while this process holds the lock. Waits for a living holder; takes over the lock of a dead one.
 */
export async function holdingLock(path, what, work) {
  const began = performance.now();
  let noted = false;
  while (!take(path)) {
    const holder = holderOf(path);
    if (holder !== null && !isAlive(holder)) discard(path, holder);
    else await sleep(pollMillis);
    if (!noted && performance.now() - began > noteAfterMillis) {
      noted = true;
      console.error(`waiting for ${what} of process ${holder ?? '(unknown)'} …`);
    }
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

/** Links a file that is already written, so that no reader sees a lock without its holder. */
function take(path) {
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, `${process.pid}\n`);
  try {
    linkSync(mine, path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}

function holderOf(path) {
  try {
    return Number.parseInt(readFileSync(path, 'utf8'), 10);
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Removing the lock of a dead process needs its own lock, or two processes that see it would each remove the
 * other's.
 */
function discard(path, dead) {
  const broom = `${path}.dead-${dead}`;
  if (!take(broom)) return;
  try {
    if (holderOf(path) === dead) rmSync(path, { force: true });
  } finally {
    rmSync(broom, { force: true });
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
