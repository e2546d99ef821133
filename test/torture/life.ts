import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/runtime/package-root.js';
import type { Stop } from './steps.js';

/** The program under test: the built one, which starts faster, or the sources through a loader. */
export interface Program {
  readonly root: string;
  readonly extension: 'js' | 'ts';
}

export const sources: Program = { root: join(packageRoot, 'src'), extension: 'ts' };
export const built: Program = { root: join(packageRoot, 'dist'), extension: 'js' };
export const isBuilt = () => existsSync(join(built.root, 'cli', 'process.js'));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One process of `rosterd`, from its start to its end. */
export interface Life {
  readonly child: ChildProcess;
  /** Resolves when it has reached the step it should stop at, or has ended. */
  readonly atStop: Promise<void>;
  /** True when it follows the platform, false if it ended before. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<Ended>;
  readonly over: boolean;
  /** True if a child process that it started, such as a scrub, is still running. */
  readonly outlived: boolean;
  printed(): string;
  kill(signal: NodeJS.Signals): void;
}

export interface LifeOptions {
  readonly program: Program;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stop?: Stop;
  /** The name of its configuration file in the folder. */
  readonly configuration?: string;
  /** The number of pages the database file may have. */
  readonly pagesMax?: number;
}

const entry = fileURLToPath(new URL('./stops.mjs', import.meta.url));
const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

export function startLife(args: readonly string[], options: LifeOptions): Life {
  const { program, folder, env, stop, configuration = 'config.json', pagesMax } = options;
  const loader = program.extension === 'ts' ? ['--import', 'tsx'] : [];
  const child = spawn(
    process.execPath,
    [...loader, entry, ...args, '--config', join(folder, configuration)],
    {
      cwd: packageRoot,
      env: {
        PATH: process.env.PATH,
        // Without it, each start compiles everything again.
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        ...env,
        ROSTERD_TORTURE: JSON.stringify({ ...program, ...stop, pagesMax }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own process group, so that surviving children can be found.
      detached: true,
    },
  );
  living.add(child);
  let printed = '';
  let over = false;
  const ready = outcome<boolean>();
  const ended = outcome<Ended>();
  const atStop = outcome<void>();
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      printed += String(chunk);
      if (printed.includes('mirroring into')) ready.resolve(true);
      if (printed.includes('came to: ')) atStop.resolve();
    });
  child.on('error', ended.reject);
  child.on('close', (code, signal) => {
    living.delete(child);
    over = true;
    ready.resolve(false);
    atStop.resolve();
    ended.resolve({ code, signal });
  });
  return {
    child,
    atStop: atStop.promise,
    ready: ready.promise,
    ended: ended.promise,
    get over() {
      return over;
    },
    get outlived() {
      return over && isGroupThere(child.pid);
    },
    printed: () => printed,
    kill: (signal) => void child.kill(signal),
  };
}

function isGroupThere(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(-pid, 0);
  } catch {
    return false;
  }
}

function outcome<Value>() {
  let resolve: (value: Value) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<Value>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}
