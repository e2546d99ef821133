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
  const from = process.env.BUILT_CHILDREN === '1' ? builtFrom(caller) : caller;
  const extension = extname(fileURLToPath(from));
  // From the sources (tests, tsx) the child is TypeScript too and needs the loader its parent may have built in.
  const loader = extension === '.ts' ? ['--import', 'tsx'] : [];
  const heap = heapMegabytes === undefined ? [] : [`--max-old-space-size=${heapMegabytes}`];
  return fork(fileURLToPath(new URL(`./${script}${extension}`, from)), {
    execArgv: [...heap, ...loader],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env,
  });
}

/** Tests run from the sources, and start hundreds of children: compiled, each starts in a third of the time. */
const builtFrom = (caller: string) => caller.replace(/\/src\/(.*)\.ts$/, '/dist/$1.js');
