import type { Config } from './config.js';
import { Secret } from './secrets.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the environment for a configured command: without the variables that secrets are read from. */
export function environmentWithoutSecrets(config: Config, env: Environment): Record<string, string> {
  const secret = new Set([...secretVariables(config)].map(comparable));
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || secret.has(comparable(name)) ? [] : [[name, value]],
    ),
  );
}

/** Windows does not distinguish case in names of variables. */
const comparable = (name: string): string => (process.platform === 'win32' ? name.toUpperCase() : name);

function* secretVariables(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  if (value instanceof Secret) {
    if (value.variable !== null) yield value.variable;
    return;
  }
  for (const inner of Object.values(value)) yield* secretVariables(inner);
}
