import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** Returns the arguments for `npm start`: `run` when a configuration exists, `demo` otherwise. */
export function startArgs(
  given: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const configured =
    (env.ROSTERD_CONFIG ?? '') !== '' ||
    given.some((arg) => arg === '--config' || arg.startsWith('--config=')) ||
    existsSync(resolve(cwd, 'config.json'));
  return [configured ? 'run' : 'demo', ...given];
}
