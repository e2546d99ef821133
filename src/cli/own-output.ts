import type { Config } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import type { CommandContext } from './command.js';

/**
 * Throws `usage` when a command would write its output over a file that rosterd needs: its configuration, or one that the
 * configuration names. `--force` does not change that. The files of the mirror are refused where the output is written.
 */
export async function refuseOwnOutput(
  path: string,
  config: Config | null,
  { io, options }: Pick<CommandContext, 'io' | 'options'>,
): Promise<void> {
  const [{ ownUseOf }, { configFileOf }] = await Promise.all([
    import('../config/own-files.js'),
    import('../config/document.js'),
  ]);
  const configFile = configFileOf({ file: options.text('config'), cwd: io.cwd, env: io.env });
  const use = ownUseOf(path, config, configFile);
  if (use !== null) throw new Fault('usage', `${path} is ${use}`, { hint: 'Name another file.' });
}
