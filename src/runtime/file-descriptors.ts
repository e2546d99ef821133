import { closeSync, openSync, readFileSync } from 'node:fs';
import { Fault } from '../domain/fault.js';

/**
 * Faults of a process that has run out of file descriptors. Files, sockets, databases, locks and child processes all
 * need descriptors, so one cause shows as many different errors.
 */

/** The recommended limit, well above what a daemon with a console and a busy receiver uses. */
const descriptorsWanted = 1024;

let softLimit: number | null | undefined;

/**
 * Returns the limit of this process, or null where the system does not report it. Node raises its soft limit to the hard
 * limit at startup. Call it early: without a free descriptor, the limit cannot be read either.
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

/** Returns a fault when `error`, or one of its causes, is a lack of descriptors; null otherwise. */
export function descriptorsFault(error: unknown): Fault | null {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    if (at instanceof Fault && at.code === 'out_of_descriptors') return at;
    const { code } = at as { code?: unknown };
    if (code === 'EMFILE' || isUnreadModule(code, at)) return ofProcess(error);
    if (code === 'ENFILE') return ofSystem(error);
    // Several addresses of one host name were tried, each with its own error.
    const among = at instanceof AggregateError ? faultAmong(at.errors) : null;
    if (among !== null) return among;
  }
  return null;
}

function faultAmong(errors: readonly unknown[]): Fault | null {
  for (const error of errors) {
    const fault = descriptorsFault(error);
    if (fault !== null) return fault;
  }
  return null;
}

/** The system's text is all that the error of a native module says about why its file cannot be opened. */
const isUnreadModule = (code: unknown, { message }: Error): boolean =>
  code === 'ERR_DLOPEN_FAILED' && message.includes('Too many open files');

/** SQLite opens a database, its log, the log's index and for a moment their folder. */
const databaseWants = 4;

/**
 * For errors that hide why a file could not be opened, such as SQLITE_CANTOPEN: returns a fault when too few descriptors
 * for a database are available at the moment, and null otherwise. SQLite closes what it has opened before it reports the
 * error, so one free descriptor proves nothing.
 */
export function descriptorsSpent(cause: unknown): Fault | null {
  const opened: number[] = [];
  try {
    while (opened.length < databaseWants) opened.push(openSync('/', 'r'));
    return null;
  } catch (error) {
    const fault = descriptorsFault(error);
    return fault === null ? null : new Fault(fault.code, fault.message, { ...fault.about, cause });
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** With a lower limit a child process may fail to load its own code. */
const childWants = 256;

/**
 * Returns the fault for a child process that ended without a response, or could not be started because of `error`. A signal
 * that asks it to stop reached the parent, too: it ends a child that has not called `endWithParent` yet. A child inherits the
 * limit of its parent and may die of it without an error message, so a low limit is reported as the likely cause.
 */
export function endedWithoutAnswer(what: string, signal: NodeJS.Signals | null, error?: Error): Fault {
  if (signal === 'SIGINT' || signal === 'SIGTERM')
    return new Fault('stopped', `${what} was ended by ${signal}`);
  const spent = descriptorsFault(error);
  if (spent !== null) return spent;
  const limit = descriptorLimit();
  const isAmple = limit === null || limit >= childWants;
  if (error !== undefined && isAmple) {
    const { code = error.name } = error as NodeJS.ErrnoException;
    return new Fault('internal', `${what} could not be started or reached (${code})`, { cause: error });
  }
  if (isAmple) return new Fault('internal', `${what} ended without an answer`);
  return new Fault(
    'out_of_descriptors',
    `${what} ended without an answer, probably because it cannot open more files and connections: its limit is ${limit}`,
    { hint: raiseLimit },
  );
}

function ofProcess(cause: unknown): Fault {
  const limit = descriptorLimit();
  return new Fault(
    'out_of_descriptors',
    `this process cannot open more files and connections${limit === null ? '' : `: its limit is ${limit}`} (EMFILE)`,
    { hint: raiseLimit, cause },
  );
}

function ofSystem(cause: unknown): Fault {
  return new Fault(
    'out_of_descriptors',
    'this machine has no file descriptor left for any process (ENFILE)',
    {
      hint: 'find the process that uses them with sudo lsof, or raise the limit: sysctl fs.file-max',
      cause,
    },
  );
}

export const raiseLimit = `raise the limit to ${descriptorsWanted} or more: ulimit -n ${descriptorsWanted}, or LimitNOFILE=${descriptorsWanted} in the systemd unit`;
