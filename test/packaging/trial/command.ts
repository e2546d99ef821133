import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Ended {
  readonly code: number | null;
  readonly said: string;
}

export interface Place {
  readonly cwd: string;
  /** Prepended to PATH. */
  readonly path: readonly string[];
}

/** npm's variables for its scripts would change the behaviour of the npm under test. */
function environment(path: readonly string[]): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|ROSTERD_|INIT_CWD$|NODE_OPTIONS$)/.test(name),
  );
  const machine = (process.env.PATH ?? '').split(':').filter((folder) => !folder.includes('node_modules'));
  return { ...Object.fromEntries(kept), PATH: [...path, ...machine].join(':'), NO_COLOR: '1' };
}

/** Runs a program to its end. With `until`, interrupts it like Ctrl-C once it has printed that text. */
export async function run(
  [program = '', ...args]: readonly string[],
  { cwd, path }: Place,
  until?: RegExp,
): Promise<Ended> {
  const child = spawn(program, args, {
    cwd,
    env: environment(path),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  let interrupted = false;
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += String(chunk);
      if (interrupted || until?.test(said) !== true || child.pid === undefined) return;
      interrupted = true;
      process.kill(-child.pid, 'SIGINT');
    });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}

/** An error that a person can fix: a sentence and the next step. */
export class TrialFailed extends Error {
  constructor(
    message: string,
    readonly next: string,
  ) {
    super(message);
  }
}
