import type { LoadedConfig } from '../config/load.js';
import type { EngineParts } from '../daemon/engine.js';
import { Fault } from '../domain/fault.js';
import type { CommandContext } from './command.js';
import { wantsColor } from './output/color.js';

/** What a command hands to the daemon: configuration, log and the process's own clock and chance. */
export async function enginePartsOf(context: CommandContext, { config }: LoadedConfig): Promise<EngineParts> {
  const [{ createLogger }, { systemRandom }] = await Promise.all([
    import('../daemon/logging.js'),
    import('../runtime/random.js'),
  ]);
  const { io } = context;
  return {
    config,
    clock: io.clock,
    random: systemRandom,
    logger: createLogger({
      level: config.log.level,
      format: config.log.format,
      stream: io.stderr,
      color: wantsColor(io.stderr, io.env),
      clock: io.clock,
    }),
  };
}

/** The same, for a command that asks the platform something and needs no mirror. */
export const sessionPartsOf: (
  context: CommandContext,
  loaded: LoadedConfig,
) => Promise<Pick<EngineParts, 'config' | 'clock' | 'random' | 'logger'>> = enginePartsOf;

/** The sources named by `--source`, or all. Throws `usage` for a name nobody configured. */
export function chosenSources(
  { config }: LoadedConfig,
  names: readonly string[],
): EngineParts['config']['sources'] {
  const known = config.sources.map(({ name }) => String(name));
  const stranger = names.find((name) => !known.includes(name));
  if (stranger !== undefined) {
    throw new Fault('usage', `no source is called ${JSON.stringify(stranger)}`, {
      hint: `one of: ${known.join(', ')}`,
    });
  }
  return names.length === 0 ? config.sources : config.sources.filter(({ name }) => names.includes(name));
}
