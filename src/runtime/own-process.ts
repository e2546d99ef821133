import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Fault } from '../domain/fault.js';
import { endedWithoutAnswer } from './file-descriptors.js';

export interface OwnProcessOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Limit of the V8 heap. Native memory is limited by `endWhenLargerOrOrphaned`, which the child calls itself. */
  readonly heapMegabytes?: number;
}

/**
 * Starts one of rosterd's own scripts as a child process with an IPC channel and without a terminal. `script` is in the
 * folder of the calling module, whose `import.meta.url` is `caller`; it first calls `endWithParent`. Callers wait for its
 * event `close`: on a busy machine, its last message may arrive after `exit`.
 */
export function startOwnProcess(
  caller: string,
  script: string,
  { env = process.env, heapMegabytes }: OwnProcessOptions = {},
): ChildProcess {
  const from = process.env.BUILT_CHILDREN === '1' ? builtFrom(caller) : caller;
  const extension = extname(fileURLToPath(from));
  // When running from the sources (tests, tsx), the child is TypeScript too and needs the loader.
  const loader = extension === '.ts' ? ['--import', 'tsx'] : [];
  const heap = heapMegabytes === undefined ? [] : [`--max-old-space-size=${heapMegabytes}`];
  const child = fork(fileURLToPath(new URL(`./${script}${extension}`, from)), {
    execArgv: [...heap, ...loader],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env,
  });
  child.once('error', (error) => errors.set(child, error));
  return child;
}

const errors = new WeakMap<ChildProcess, Error>();

/** Returns the fault for such a child process that ended, or could not be started, without a response. */
export function lostProcess(what: string, child: ChildProcess): Fault {
  return endedWithoutAnswer(what, child.signalCode, errors.get(child));
}

/** Tests run from the sources and start hundreds of children, which start faster when compiled. */
const builtFrom = (caller: string) => caller.replace(/\/src\/(.*)\.ts$/, '/dist/$1.js');
