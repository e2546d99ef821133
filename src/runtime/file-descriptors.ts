import { closeSync, openSync, readFileSync } from 'node:fs';
import { Fault } from '../domain/fault.js';

/**
 * What a process that ran out of file descriptors says. Files, sockets, databases, locks and child processes all need
 * them, so it shows in many places as many errors; the cause is one and so is the remedy.
 */

/** A daemon with a console, a receiver and two hundred connections uses some 300; a command uses some 60. */
export const descriptorsWanted = 1024;

let softLimit: number | null | undefined;

/**
 * The limit of this process, or null where the system does not tell. Node raises a soft limit to the hard one when it
 * starts. Read early: when no descriptor is left, the limit cannot be read either.
 */
export function descriptorLimit(): number | null {
  if (softLimit === undefined) softLimit = readLimit();
  return softLimit;
}

function readLimit(): number | null {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Returns what to tell when `error`, or what caused it, is a lack of descriptors. */
export function descriptorsFault(error: unknown): Fault | null {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    if (at instanceof Fault && at.code === 'out_of_descriptors') return at;
    const { code } = at as { code?: unknown };
    if (code === 'EMFILE') return ofProcess(error);
    if (code === 'ENFILE') return ofSystem(error);
    // Several addresses of one name were tried, each with an error of its own.
    if (at instanceof AggregateError) {
      for (const one of at.errors) {
        const fault = descriptorsFault(one);
        if (fault !== null) return fault;
      }
    }
  }
  return null;
}

/**
 * For libraries that do not say why a file could not be opened, such as SQLite with SQLITE_CANTOPEN: returns what to
 * tell when a descriptor cannot be had at this moment.
 */
export function descriptorsSpent(cause: unknown): Fault | null {
  try {
    closeSync(openSync('/', 'r'));
    return null;
  } catch (error) {
    const fault = descriptorsFault(error);
    return fault === null ? null : new Fault(fault.code, fault.message, { ...fault.about, cause });
  }
}

/** Below this a child process may not even be able to load itself. */
const childWants = 256;

/**
 * For a child process that ended before it said anything. It has the limit of its parent and dies of it without a word,
 * so that a low one is named as what most likely ended it.
 */
export function endedWithoutAnswer(what: string): Fault {
  const limit = descriptorLimit();
  if (limit === null || limit >= childWants) return new Fault('internal', `${what} ended without an answer`);
  return new Fault(
    'out_of_descriptors',
    `${what} ended without an answer; it may not open more files and connections: its limit is ${limit}`,
    { hint: raiseLimit },
  );
}

function ofProcess(cause: unknown): Fault {
  const limit = descriptorLimit();
  return new Fault(
    'out_of_descriptors',
    `this process may not open more files and connections${limit === null ? '' : `: its limit is ${limit}`} (EMFILE)`,
    { hint: raiseLimit, cause },
  );
}

function ofSystem(cause: unknown): Fault {
  return new Fault(
    'out_of_descriptors',
    'this machine has no file descriptor left for any process (ENFILE)',
    {
      hint: 'look for the process that holds them: sudo lsof | wc -l; or raise the limit: sysctl fs.file-max',
      cause,
    },
  );
}

export const raiseLimit = `raise the limit to ${descriptorsWanted} or more: ulimit -n ${descriptorsWanted}, or LimitNOFILE=${descriptorsWanted} in the systemd unit`;
