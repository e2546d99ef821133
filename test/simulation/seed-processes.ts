import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Laboratory, type Mode } from './run-seed.js';
import { type Tried, trySeed, type Wish } from './try-seed.js';

export interface Setting extends Wish {
  readonly mode: Mode;
  /** The address of a server for the mirrors; null keeps them in files. */
  readonly server: string | null;
}

/** Tries one seed after the other. */
export interface Trier {
  seed(seed: number): Promise<Tried>;
  close(): Promise<void>;
}

export const settingOf = (told: string | undefined): Setting => JSON.parse(told ?? '{}') as Setting;

/**
 * A single job runs in this process, where a debugger and a profiler can reach it; several jobs each get their own
 * process.
 */
export async function triers(setting: Setting, jobs: number): Promise<readonly Trier[]> {
  if (jobs > 1) return Array.from({ length: jobs }, () => beside(setting));
  const laboratory = await Laboratory.open(setting.mode, setting.server);
  return [{ seed: (seed) => trySeed(laboratory, seed, setting), close: () => laboratory.close() }];
}

/** The script of such a process; a compiled one starts without a loader. */
export const seedProcess = fileURLToPath(
  new URL(`./seed-process.${import.meta.url.endsWith('.js') ? 'js' : 'ts'}`, import.meta.url),
);

export function beside(setting: Setting, script = seedProcess): Trier {
  const child = fork(script, [JSON.stringify(setting)], {
    serialization: 'advanced',
    execArgv: script.endsWith('.ts') ? ['--import', 'tsx'] : [],
  });
  return {
    seed: (seed) => answerOf(child, seed),
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await ended;
    },
  };
}

function answerOf(child: ChildProcess, seed: number): Promise<Tried> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null, signal: string | null) =>
      reject(new Error(`the process for seed ${seed} ended with ${signal ?? code}`));
    child.once('exit', ended);
    child.once('message', (tried) => {
      child.off('exit', ended);
      resolve(tried as Tried);
    });
    child.send(seed);
  });
}
