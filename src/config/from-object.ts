import type { z } from 'zod';
import type { Config } from './config.js';
import { configFrom } from './config-from.js';
import { InvalidConfig } from './invalid-config.js';
import { configJsonSchema } from './json-schema.js';
import { pathText } from './path.js';
import { problemsOf } from './problems.js';
import { clashesIn } from './rules.js';
import { settingsSchema } from './settings.js';

/** The content of a `config.json`, as an object. */
export type ConfigInput = z.input<typeof settingsSchema>;

export interface ObjectSurroundings {
  /** The folder that relative paths start from. */
  readonly cwd: string;
  /** The environment for secrets given as `{"env": "NAME"}`. It does not override options of the object. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Parses a configuration given as an object. Throws `InvalidConfig` with every problem. */
export function configFromObject(input: ConfigInput, { cwd, env }: ObjectSurroundings): Config {
  const whereOf = () => '';
  const parsed = settingsSchema.safeParse(input);
  if (!parsed.success) {
    const examined = { root: configJsonSchema(), input, whereOf };
    throw new InvalidConfig(problemsOf(parsed.error.issues, examined), 'fix the object');
  }
  const folderOf = () => cwd;
  const clashes = clashesIn(parsed.data, { folderOf }).map(({ path, ...clash }) => ({
    path: pathText(path),
    where: '',
    ...clash,
  }));
  if (clashes.length > 0) throw new InvalidConfig(clashes, 'fix the object');
  return configFrom(parsed.data, { env, folderOf });
}
