import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReadyDocument } from '../../../src/platform/sandbox/document.js';
import { packageRoot } from '../../../src/runtime/package-root.js';

/** How fast time passes in a process. */
export interface Pace {
  /** Real milliseconds since the epoch at which the faster time began. */
  readonly epoch: number;
  readonly speed: number;
}

export const realTime: Pace = { epoch: 0, speed: 1 };

export interface Running {
  readonly pid: number;
  readonly child: ChildProcess;
  /** What it has printed so far. */
  said(): string;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

/** Starts the built `rosterd`. */
export function startRosterd(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { epoch, speed }: Pace,
): Running {
  const preload = fileURLToPath(new URL('./fast-clock.mjs', import.meta.url));
  const main = join(packageRoot, 'dist', 'cli', 'main.js');
  const child = spawn(process.execPath, ['--import', preload, main, ...args], {
    cwd: packageRoot,
    env: { PATH: process.env.PATH, CROWD_EPOCH: String(epoch), CROWD_SPEED: String(speed), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  living.add(child);
  const gone = once(child, 'exit').then(() => void living.delete(child));
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (part: string) => {
      printed += part;
    });
  return {
    pid: child.pid ?? 0,
    child,
    said: () => printed,
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await gone;
    },
  };
}

export interface SandboxProcess extends Running {
  readonly ready: ReadyDocument;
  /** A call of the control API, with a body as POST. */
  control<Answer>(path: string, body?: unknown): Promise<Answer>;
}

export interface SandboxOptions {
  readonly port: number;
  readonly data: string;
  readonly companies: number;
  readonly records: number;
  readonly seed: number;
  readonly importFile: string;
  readonly limits: boolean;
}

export async function startSandboxProcess(options: SandboxOptions, pace: Pace): Promise<SandboxProcess> {
  const { port, data, companies, records, seed, importFile, limits } = options;
  const flags = {
    listen: `127.0.0.1:${port}`,
    data,
    companies,
    records,
    seed,
    import: importFile,
    limits: limits ? 'on' : 'off',
  };
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
  const running = startRosterd(['sandbox', ...args], {}, pace);
  const ready = await new Promise<ReadyDocument>((resolve, reject) => {
    let line = '';
    running.child.once('exit', () => reject(new Error(`the sandbox ended: ${running.said().slice(-500)}`)));
    running.child.stdout?.on('data', (part: string) => {
      line += part;
      if (line.endsWith('\n')) resolve(JSON.parse(line) as ReadyDocument);
    });
  });
  return {
    ...running,
    ready,
    control: async <Answer>(path: string, body?: unknown) => {
      const method = body === undefined ? 'GET' : 'POST';
      const wanted = body === undefined ? {} : { body: JSON.stringify(body) };
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${ready.control}${path}`, { method, headers, ...wanted });
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as Answer;
    },
  };
}

/** Returns the resident memory of a process and its highest value, in megabytes. Throws when the process has ended. */
export function memoryOf(pid: number): { readonly now: number; readonly peak: number } {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) throw new Error(`process ${pid} of the crowd has ended before it was measured`);
  const status = readFileSync(file, 'utf8');
  const megabytes = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024;
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
}

/** Returns the processor time that a process has used, in seconds. */
export function processorSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
