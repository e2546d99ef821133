import { spawn } from 'node:child_process';
import type { Clock } from '../runtime/clock.js';
import { descriptorsFault } from '../runtime/file-descriptors.js';
import type { Send, Sent } from './ports.js';

/** A command may call out itself; one that takes longer hangs. */
const runMillisMax = 30_000;

/** Runs a program without a shell, the notice as JSON on its stdin. Exit code 0 means taken. */
export function sendToCommand([program = '', ...args]: readonly string[], clock: Clock): Send {
  return ({ body }, signal) =>
    new Promise<Sent>((resolve) => {
      const ended = new AbortController();
      let late = false;
      const child = spawn(program, args, {
        shell: false,
        stdio: ['pipe', 'ignore', 'ignore'],
        windowsHide: true,
      });
      const kill = () => child.kill('SIGKILL');
      const end = (sent: Sent) => {
        ended.abort();
        signal.removeEventListener('abort', kill);
        resolve(sent);
      };
      child.once('error', (error: NodeJS.ErrnoException) =>
        end({
          kind: 'failed',
          why: descriptorsFault(error)?.message ?? `could not be run (${error.code ?? 'unknown reason'})`,
        }),
      );
      child.once('close', (code, killedBy) => {
        if (code === 0) return end({ kind: 'delivered' });
        const why = late
          ? `did not end within ${runMillisMax / 1000} s`
          : code === null
            ? `was ended by ${killedBy}`
            : `ended with code ${code}`;
        end({ kind: 'failed', why });
      });
      // One that does not read its input has still been told.
      // Without a file descriptor left there is neither a child nor a pipe to it; `error` tells.
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
