import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Starts a script of our own as a process, to talk to by messages; it has no terminal. `script` stands beside the
 * module that asks, whose `import.meta.url` is `caller`.
 */
export function startOwnProcess(caller: string, script: string, env = process.env): ChildProcess {
  const extension = extname(fileURLToPath(caller));
  return fork(fileURLToPath(new URL(`./${script}${extension}`, caller)), {
    // From the sources (tests, tsx) the child is TypeScript too and needs the loader its parent may have built in.
    execArgv: extension === '.ts' ? ['--import', 'tsx'] : [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env,
  });
}
