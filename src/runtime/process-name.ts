import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/*
 * A process, named so that another one can tell later whether it is gone: its host, its number there, and where
 * Linux tells them, when it was born and in which namespace that number counts. A number alone comes again, in a
 * container that is started anew even with the very next process.
 */

/** `host:number:birth.namespace`. */
export function processName(): string {
  return `${hostname()}:${process.pid}:${birthOf(process.pid) ?? ''}.${namespace()}`;
}

/** Whether the process of that name is known to be gone. What ran elsewhere, or cannot be read, is not known to be. */
export function isProcessGone(name: string): boolean {
  return stateOf(name) === 'gone';
}

/** Whether the process of that name is known to run on this machine now. */
export function isProcessThere(name: string): boolean {
  return stateOf(name) === 'there';
}

function stateOf(name: string): 'gone' | 'there' | 'unknown' {
  const [, host, number, birth, space] = /^([^:]+):(\d{1,10}):(\d*)\.(\d*)(?::|$)/.exec(name) ?? [];
  if (host !== hostname() || space !== namespace()) return 'unknown';
  const pid = Number(number);
  if (!isRunning(pid)) return 'gone';
  if (birth === '') return 'unknown';
  return birthOf(pid) === birth ? 'there' : 'gone';
}

/** Whether a process of this machine has that number. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not being allowed to signal it means that it is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** In ticks since the machine started; null where nobody tells, and for a dead process its parent has not noticed. */
function birthOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name stands in parentheses and may hold anything, so fields are counted from behind it.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? null : (fields[18] ?? null);
  } catch {
    return null;
  }
}

function namespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';
  } catch {
    return '';
  }
}
