import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface OwnProcessOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** What its objects may take. What a library takes beside them is bounded by `endWhenLarger`, which it calls itself. */
  readonly heapMegabytes?: number;
}

/**
 * Starts a script of our own as a process, to talk to by messages; it has no terminal. `script` stands beside the
 * module that asks, whose `import.meta.url` is `caller`.
 */
export function startOwnProcess(
  caller: string,
  script: string,
  { env = process.env, heapMegabytes }: OwnProcessOptions = {},
): ChildProcess {
  const extension = extname(fileURLToPath(caller));
  // From the sources (tests, tsx) the child is TypeScript too and needs the loader its parent may have built in.
  const loader = extension === '.ts' ? ['--import', 'tsx'] : [];
  const heap = heapMegabytes === undefined ? [] : [`--max-old-space-size=${heapMegabytes}`];
  return fork(fileURLToPath(new URL(`./${script}${extension}`, caller)), {
    execArgv: [...heap, ...loader],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env,
  });
}
