import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/runtime/package-root.js';
import type { Stop } from './steps.js';

/** Which program is tortured: the built one, which starts in a fraction of the time, or the sources through a loader. */
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
  /** Resolves when it has come to the step it was to stop at, or has ended. */
  readonly atStop: Promise<void>;
  /** True when it follows the platform, false when it ended before. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<Ended>;
  readonly over: boolean;
  /** A process that it started itself, such as one that scrubs, is still at work. */
  readonly outlived: boolean;
  printed(): string;
  kill(signal: NodeJS.Signals): void;
}

export interface LifeOptions {
  readonly program: Program;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stop?: Stop;
  /** How many pages the database file may have. */
  readonly pagesMax?: number;
  /** What a former process held has run out. */
  readonly outlast?: boolean;
}

const entry = fileURLToPath(new URL('./stops.mjs', import.meta.url));
const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

export function startLife(args: readonly string[], options: LifeOptions): Life {
  const { program, folder, env, stop, pagesMax, outlast } = options;
  const loader = program.extension === 'ts' ? ['--import', 'tsx'] : [];
  const child = spawn(
    process.execPath,
    [...loader, entry, ...args, '--config', join(folder, 'config.json')],
    {
      cwd: packageRoot,
      env: {
        ...{ PATH: process.env.PATH, ...env },
        ROSTERD_TORTURE: JSON.stringify({ ...program, ...stop, pagesMax, outlast }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own: whoever of it outlives its first process can be found.
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
