import type { z } from 'zod';
import { type Config, configFrom } from './config.js';
import { pathText } from './path.js';
import { InvalidConfig, problemsOf } from './problems.js';
import { clashesIn } from './rules.js';
import { configJsonSchema } from './schema-tree.js';
import { settingsSchema } from './settings.js';

/** The content of a `config.json`, as a value. */
export type ConfigInput = z.input<typeof settingsSchema>;

export interface ObjectSurroundings {
  /** Where relative paths start. */
  readonly cwd: string;
  /** Where secrets written as `{"env": "NAME"}` are read from; nothing in it overrides the object. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** For a program that has its configuration at hand. Throws `InvalidConfig` with every problem. */
export function configFromObject(input: ConfigInput, { cwd, env }: ObjectSurroundings): Config {
  const whereOf = () => '';
  const parsed = settingsSchema.safeParse(input);
  if (!parsed.success) {
    const examined = { root: configJsonSchema(), input, whereOf };
    throw new InvalidConfig(problemsOf(parsed.error.issues, examined), 'mend the object');
  }
  const clashes = clashesIn(parsed.data).map(({ path, ...told }) => ({
    path: pathText(path),
    where: '',
    ...told,
  }));
  if (clashes.length > 0) throw new InvalidConfig(clashes, 'mend the object');
  return configFrom(parsed.data, { env, folderOf: () => cwd });
}
