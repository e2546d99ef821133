import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/*
 * A process, named so that another one can tell later whether it is gone: its host, its number there, and where
 * Linux tells them, when it was born, in which namespace that number counts, and of which start of the kernel all of
 * this is. A number alone comes again, in a container that is started anew even with the very next process. Names of
 * hosts come twice, and the first namespace has the same number on each of them: only the start of a kernel is unique.
 */

/** `host:number:birth.namespace.start`. */
export function processName(): string {
  const birth = birthOf(process.pid) ?? '';
  return `${hostname()}:${process.pid}:${birth}.${namespace()}.${kernelStart()}`;
}

/**
 * Whether the process of that name is known to be gone, for names that can only have been written on this machine,
 * such as those in a file. What ran elsewhere, or cannot be read, is not known to be.
 */
export function isProcessGone(name: string): boolean {
  return stateOf(name) === 'gone';
}

/**
 * The same for names that any host may have written. A process of another start of a kernel may live on another host
 * of the same name, so that only one of this kernel and this namespace can be judged.
 */
export function isSharedProcessGone(name: string): boolean {
  return kernelStart() !== '' && kernelStart() === partsOf(name)?.start && stateOf(name) === 'gone';
}

/** Whether the process of that name is known to run on this machine now. */
export function isProcessThere(name: string): boolean {
  return stateOf(name) === 'there';
}

function partsOf(name: string) {
  const match = /^([^:]+):(\d{1,10}):(\d*)\.(\d*)(?:\.([\da-f]*))?(?::|$)/.exec(name);
  if (match === null) return undefined;
  const [, host = '', number = '', birth = '', space = '', start = ''] = match;
  return { host, pid: Number(number), birth, space, start };
}

function stateOf(name: string): 'gone' | 'there' | 'unknown' {
  const named = partsOf(name);
  if (named === undefined || named.host !== hostname() || named.space !== namespace()) return 'unknown';
  if (!isRunning(named.pid)) return 'gone';
  if (named.birth === '') return 'unknown';
  const birth = birthOf(named.pid);
  // A process of another user may be hidden from this one.
  if (birth === null) return 'unknown';
  return birth === named.birth && (named.start === '' || named.start === kernelStart()) ? 'there' : 'gone';
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

/** In ticks since the machine started; empty for a dead process its parent has not noticed, null where nobody tells. */
function birthOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name stands in parentheses and may hold anything, so fields are counted from behind it.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? '' : (fields[18] ?? null);
  } catch {
    return null;
  }
}

/** Of a number that the kernel draws when it starts; 48 bits of it are enough to tell a few hosts apart. */
function kernelStart(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').replaceAll('-', '').slice(0, 12);
  } catch {
    return '';
  }
}

function namespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';
  } catch {
    return '';
  }
}
