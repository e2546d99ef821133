import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** What `npm start` runs: the daemon when somebody has configured one, the demonstration otherwise. */
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
