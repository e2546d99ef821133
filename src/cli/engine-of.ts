import type { LoadedConfig } from '../config/document.js';
import type { EngineParts } from '../daemon/engine.js';
import { Fault } from '../domain/fault.js';
import type { CommandContext } from './command.js';
import { wantsColor } from './output/color.js';

/** Returns what a command passes to the daemon: the configuration, the log, the clock and the random source. */
export async function enginePartsOf(context: CommandContext, { config }: LoadedConfig): Promise<EngineParts> {
  const [{ createLogger }, { systemRandom }, { LogTail }] = await Promise.all([
    import('../daemon/logging.js'),
    import('../runtime/random.js'),
    import('../runtime/log-tail.js'),
  ]);
  const { io } = context;
  const tail = new LogTail();
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
      tail,
    }),
    tail,
  };
}

/** The same, for a command that only calls the platform and needs no mirror. */
export const sessionPartsOf: (
  context: CommandContext,
  loaded: LoadedConfig,
) => Promise<Pick<EngineParts, 'config' | 'clock' | 'random' | 'logger'>> = enginePartsOf;

/** Returns the sources named by `--source`, or all. Throws `usage` for a name that is not configured. */
export function chosenSources(
  { config }: LoadedConfig,
  names: readonly string[],
): EngineParts['config']['sources'] {
  const known = config.sources.map(({ name }) => String(name));
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Fault('usage', `no source is called ${JSON.stringify(unknown)}`, {
      hint: `one of: ${known.join(', ')}`,
    });
  }
  return names.length === 0 ? config.sources : config.sources.filter(({ name }) => names.includes(name));
}
