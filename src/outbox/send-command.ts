import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../runtime/clock.js';
import { descriptorsFault } from '../runtime/file-descriptors.js';
import type { Send, Sent } from './ports.js';

/** A command may itself use the network; a notice that takes longer than this hangs. */
const noticeMillisMax = 30_000;

export interface CommandParts {
  readonly clock: Clock;
  /** All that the program gets of the environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly runMillisMax?: number;
}

/**
 * Returns a sender that runs a program without a shell, with the notice as JSON on its stdin. Exit code 0 means
 * delivered.
 */
export function sendToCommand(
  [program = '', ...args]: readonly string[],
  { clock, env, runMillisMax = noticeMillisMax }: CommandParts,
): Send {
  return ({ body }, signal) =>
    new Promise<Sent>((resolve) => {
      const ended = new AbortController();
      let late = false;
      let child: ReturnType<typeof start>;
      try {
        child = start(program, args, env);
      } catch (error) {
        return resolve(notRun(error as NodeJS.ErrnoException));
      }
      const kill = () => killGroup(child);
      const end = (sent: Sent) => {
        ended.abort();
        signal.removeEventListener('abort', kill);
        resolve(sent);
      };
      child.once('error', (error: NodeJS.ErrnoException) => end(notRun(error)));
      child.once('close', (code, killedBy) => {
        if (code === 0) return end({ kind: 'delivered' });
        const why = late
          ? `did not end within ${runMillisMax / 1000} s`
          : code === null
            ? `was killed by ${killedBy}`
            : `ended with code ${code}`;
        end({ kind: 'failed', why });
      });
      // A program that does not read its input still counts. Without a free file descriptor there is neither a child
      // process nor a pipe; `error` reports that.
      child.stdin?.on('error', () => {});
      child.stdin?.end(`${body}\n`);
      signal.addEventListener('abort', kill, { once: true });
      if (signal.aborted) kill();
      void clock.wait(runMillisMax, ended.signal).then(() => {
        if (ended.signal.aborted) return;
        late = true;
        kill();
      });
    });
}

/** Throws for some reasons why a program cannot be run, such as ENOMEM and ETXTBSY; `error` reports the others. */
function start(program: string, args: readonly string[], env: CommandParts['env']) {
  return spawn(program, args, {
    env,
    shell: false,
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
    // In a group of its own, so that what it started ends with it.
    detached: process.platform !== 'win32',
  });
}

function notRun(error: NodeJS.ErrnoException): Sent {
  const why = descriptorsFault(error)?.message ?? `could not be run (${error.code ?? 'unknown reason'})`;
  return { kind: 'failed', why };
}

/** Kills a process and those that it started. Windows has no process groups: there, only the process itself. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
