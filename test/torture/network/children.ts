import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { startOf } from './namespaces.js';
import type { Line, Order } from './orders.js';

/** Compiles the processes that are not rosterd into one file, because a loader would cost each of them a second. */
export async function buildRoles(folder: string): Promise<string> {
  const outfile = join(folder, 'role.cjs');
  await build({
    entryPoints: [fileURLToPath(new URL('./role.ts', import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node22',
    external: ['pg-native'],
    define: { 'import.meta.url': '"file:///"' },
    logLevel: 'error',
  });
  return outfile;
}

export interface Spawned {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  readonly over: boolean;
  /** Signals the program itself, which may be the child of one that gives it a process namespace. */
  kill(signal: NodeJS.Signals): void;
  /** The file of everything that it printed. */
  readonly log: string;
}

export interface SpawnOptions {
  readonly log: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: 'pipe' | 'ignore';
  /** False for a process that has to outlive this one. */
  readonly dependent?: boolean;
  readonly cwd?: string;
  /** Called for each line of its standard output, which then is not logged. */
  readonly onLine?: (line: string) => void;
}

const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

export function startProcess(command: readonly string[], options: SpawnOptions): Spawned {
  const { log, env = {}, input = 'ignore', onLine, cwd = packageRoot, dependent = true } = options;
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: [input, 'pipe', 'pipe'],
    detached: true,
  });
  if (dependent) living.add(child);
  child.stdin?.on('error', () => {});
  const file = createWriteStream(log, { flags: 'a' });
  child.stderr?.pipe(file, { end: false });
  if (child.stdout !== null) {
    if (onLine === undefined) child.stdout.pipe(file, { end: false });
    else createInterface({ input: child.stdout }).on('line', onLine);
  }
  let over = false;
  const ended = new Promise<void>((resolve) => {
    child.on('error', () => resolve());
    child.on('close', () => {
      living.delete(child);
      over = true;
      file.end();
      resolve();
    });
  });
  return {
    child,
    ended,
    log,
    kill: (signal) => {
      if (over || child.pid === undefined) return;
      const inner = command.includes('unshare') ? childOf(child.pid) : null;
      if (inner === null) child.kill(signal);
      else process.kill(inner, signal);
    },
    get over() {
      return over;
    },
  };
}

function childOf(pid: number): number | null {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    return child === undefined || child === '' ? null : Number(child);
  } catch {
    return null;
  }
}

/** A process that obeys lines. */
export interface Directed extends Spawned {
  readonly ready: Promise<void>;
  tell(line: Line): void;
}

export function startRole(
  command: (node: readonly string[]) => readonly string[],
  role: { readonly bundle: string; readonly order: Order; readonly log: string },
  onLine: (line: Record<string, unknown>) => void = () => {},
): Directed {
  let isReady: () => void = () => {};
  let failed: (error: Error) => void = () => {};
  const ready = new Promise<void>((resolve, reject) => {
    isReady = resolve;
    failed = reject;
  });
  ready.catch(() => {});
  const spawned = startProcess(command([process.execPath, role.bundle, JSON.stringify(role.order)]), {
    log: role.log,
    input: 'pipe',
    dependent: role.order.role !== 'guard',
    onLine: (text) => {
      const line = JSON.parse(text) as Record<string, unknown>;
      if (line.ready === true) isReady();
      else onLine(line);
    },
  });
  void spawned.ended.then(() => failed(new Error(`the ${role.order.role} ended: see ${role.log}`)));
  return {
    child: spawned.child,
    ended: spawned.ended,
    log: spawned.log,
    kill: spawned.kill,
    get over() {
      return spawned.over;
    },
    ready,
    tell: (line) => void spawned.child.stdin?.write(`${JSON.stringify(line)}\n`),
  };
}

/** The line that lets the guard find this process, and no later one with its number. */
export const guarded = (pid: number): Line => ({ op: 'process', pid, start: startOf(pid) });
