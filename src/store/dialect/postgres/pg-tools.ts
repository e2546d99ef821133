import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { Fault } from '../../../domain/fault.js';
import { descriptorsFault } from '../../../runtime/file-descriptors.js';
import { type PostgresLocation, secretUrlOf } from '../../database-location.js';

/*
 * PostgreSQL's own programs pg_dump and pg_restore. The password goes into their environment, because other users can
 * read arguments. What they print is not shown: it may quote a row.
 */

type Env = Readonly<Record<string, string | undefined>>;

/** Returns the environment for a program that connects to the mirror. */
export async function connectingEnv(place: PostgresLocation, env: Env): Promise<NodeJS.ProcessEnv> {
  const { password } = new URL(await secretUrlOf(place));
  return { ...env, ...(password === '' ? {} : { PGPASSWORD: decodeURIComponent(password) }) };
}

/**
 * Returns the major version of an installed program; null when it is not installed. Throws `out_of_descriptors` when no
 * program can be started.
 */
export async function majorOf(program: 'pg_dump' | 'pg_restore', env: Env): Promise<number | null> {
  const child = spawn(program, ['--version'], { env: { ...env }, stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  pipeOf(child.stdout)
    .setEncoding('utf8')
    .on('data', (piece: string) => {
      text += piece;
    });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error) => {
      const spent = descriptorsFault(error);
      if (spent === null) resolve(null);
      else reject(spent);
    });
    child.once('close', resolve);
  });
  const major = /\(PostgreSQL\) (\d+)/.exec(text)?.[1];
  return code === 0 && major !== undefined ? Number(major) : null;
}

/** Runs a program to its end. Throws `database_unusable` when it fails, and `stopped` when `signal` fires. */
export async function runTool(
  program: string,
  args: readonly string[],
  env: Env,
  signal: AbortSignal,
): Promise<void> {
  const { ended, output } = startTool(program, args, env, signal);
  output.resume();
  await ended;
}

/**
 * Starts a program whose output is read. `ended` rejects when the program fails; read all output first. Its messages are
 * dropped by reading them: a program that writes one after this process was killed gets SIGPIPE, which ends it.
 */
export function startTool(
  program: string,
  args: readonly string[],
  env: Env,
  signal: AbortSignal,
): { readonly output: Readable; readonly ended: Promise<void> } {
  const child = spawn(program, args, { env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  pipeOf(child.stderr).resume();
  const kill = () => child.kill('SIGTERM');
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  const run = async () => {
    try {
      const [code] = (await once(child, 'close')) as [number | null];
      if (signal.aborted) throw new Fault('stopped', 'stopped before the end; nothing was replaced');
      if (code === 0) return;
      throw new Fault('database_unusable', `${program} failed (exit code ${code ?? 'none: it was killed'})`, {
        hint: `Run it by hand to see why: ${program} --help`,
      });
    } catch (error) {
      if (error instanceof Fault) throw error;
      const unstarted = new Fault('database_unusable', `${program} cannot be started`, {
        hint: `Install the PostgreSQL client programs, which contain ${program}.`,
        cause: error,
      });
      throw descriptorsFault(error) ?? unstarted;
    } finally {
      signal.removeEventListener('abort', kill);
    }
  };
  const ended = run();
  // The reader of the output awaits this later.
  ended.catch(() => {});
  return { output: pipeOf(child.stdout), ended };
}

/** Without a free file descriptor there is neither a child process nor a pipe; its event `error` reports that. */
const pipeOf = (pipe: Readable | undefined): Readable => pipe ?? Readable.from([]);
