import type * as ChildProcess from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const ears = pathToFileURL(new URL('child-ears.mjs', import.meta.url).pathname).href;

type Env = Readonly<Record<string, string | undefined>>;

/** Adds the environment that makes a child process record its output, beside what its test passes. */
function heardIn(env: Env): Env {
  const { testPath, currentTestName } = expect.getState();
  return {
    ROSTERD_LOG__LEVEL: 'debug',
    ...env,
    NODE_OPTIONS: `${env.NODE_OPTIONS ?? ''} --import ${ears}`.trim(),
    CANARY_FOLDER: process.env.CANARY_FOLDER,
    CANARY_TEST: `${testPath ?? '?'} > ${currentTestName ?? '?'}`,
  };
}

const isOptions = (given: unknown): given is { readonly env?: Env } =>
  typeof given === 'object' && given !== null && !Array.isArray(given);

/**
 * Accepts `(command, arguments?, options?, …)` in every documented form and adds to the environment in its
 * options.
 */
function withEars(given: readonly unknown[]): unknown[] {
  const at = given.findIndex(isOptions);
  const options = at < 0 ? {} : given[at];
  const heard = {
    ...(options as object),
    env: heardIn((options as { readonly env?: Env }).env ?? process.env),
  };
  if (at >= 0) return given.with(at, heard);
  const place = Array.isArray(given[1]) ? 2 : 1;
  return given.toSpliced(place, 0, heard);
}

const ways = ['spawn', 'spawnSync', 'fork', 'execFile', 'execFileSync'] as const;

type Start = (...given: unknown[]) => unknown;

export function heardProcesses(real: typeof ChildProcess): object {
  const listenedTo =
    (start: Start): Start =>
    (...given) =>
      start(...withEars(given));
  const heard = Object.fromEntries(ways.map((way) => [way, listenedTo(real[way] as Start)]));
  // `promisify` looks for this property: a form that returns both streams.
  Object.assign(heard.execFile as Start, {
    [promisify.custom]: listenedTo(promisify(real.execFile) as Start),
  });
  return { ...real, ...heard };
}
