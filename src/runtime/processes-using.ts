import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { printable } from '../domain/printable.js';

/**
 * Returns the other processes of this user that have the file open, as `sqlite3 (process 4711)`. Only Linux says so, and
 * not of processes of another user or in another container: none found does not mean that there are none.
 */
export function processesUsing(file: string): readonly string[] {
  try {
    const path = realpathSync(file);
    return readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid && hasOpen(pid, path))
      .map((pid) => `${programOf(pid)} (process ${pid})`);
  } catch {
    return [];
  }
}

function hasOpen(pid: string, path: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => targetOf(`/proc/${pid}/fd/${fd}`) === path);
  } catch {
    // It belongs to another user, or has ended.
    return false;
  }
}

function targetOf(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}

/** Only the name: the arguments of a program may contain secrets. */
function programOf(pid: string): string {
  try {
    const [name = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return printable(basename(name)) || 'a program';
  } catch {
    // It has just ended; the others must still be named.
    return 'a program';
  }
}
