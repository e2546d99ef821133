import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/*
 * Process names that let another process check later whether the process has ended. A name consists of the host, the
 * pid and, on Linux, the start time of the process, its pid namespace and the kernel's boot id. A pid alone is not
 * enough: pids are reused, in a restarted container even by its first process. Host names may repeat, and the initial
 * namespace has the same number on every host, so only the boot id is unique.
 */

/** Returns `host:pid:start-time.namespace.boot-id`. */
export function processName(): string {
  const birth = birthOf(process.pid) ?? '';
  return `${hostname()}:${process.pid}:${birth}.${namespace()}.${kernelStart()}`;
}

/**
 * Returns the pid namespace and the kernel's boot id, for file names: a pid can only be looked up where both are the
 * same. Empty parts where the system does not report them.
 */
export function processSpace(): string {
  return `${namespace()}-${kernelStart()}`;
}

/**
 * Returns whether the named process is known to have ended, for names that only this machine can have written, such as
 * those in a local file. Returns false for a process of another host or a name that cannot be parsed.
 */
export function isProcessGone(name: string): boolean {
  return stateOf(name) === 'gone';
}

/**
 * The same for names that any host may have written. A process with another boot id may run on another host of the
 * same name, so only processes of this boot and this namespace are considered.
 */
export function isSharedProcessGone(name: string): boolean {
  return kernelStart() !== '' && kernelStart() === partsOf(name)?.start && stateOf(name) === 'gone';
}

/** Returns whether the named process is known to be running on this machine. */
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
  // The system may hide processes of other users.
  if (birth === null) return 'unknown';
  return birth === named.birth && (named.start === '' || named.start === kernelStart()) ? 'there' : 'gone';
}

/** Returns whether a process on this machine has this pid. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists, but this one may not signal it.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Returns the start time in ticks since boot; empty for a zombie, null when the system does not report it. */
function birthOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The process name is in parentheses and may contain any character, so count the fields after it.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? '' : (fields[18] ?? null);
  } catch {
    return null;
  }
}

/** Returns 48 bits of the kernel's random boot id, enough to distinguish a few hosts; empty when it cannot be read. */
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
