import type { LoadedConfig } from '../config/document.js';
import type { EngineParts } from '../daemon/engine.js';
import { Fault } from '../domain/fault.js';
import { oneOf } from '../domain/one-of.js';
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

/** Returns the sources named by `--source`, or all. Throws `usage` for a name that no source has. */
export async function chosenSources(
  { config }: LoadedConfig,
  names: readonly string[],
): Promise<EngineParts['config']['sources']> {
  const sources = config.follows.length === 0 ? config.sources : await storedSourcesOf(config);
  const known = new Set<string>(sources.map(({ name }) => name));
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined)
    throw new Fault('usage', `no source is called ${JSON.stringify(unknown)}`, { hint: namesOf(sources) });
  return names.length === 0 ? sources : sources.filter(({ name }) => names.includes(name));
}

async function storedSourcesOf(config: EngineParts['config']): Promise<EngineParts['config']['sources']> {
  const { storedSources } = await import('../daemon/stored-sources.js');
  return await storedSources(config);
}

/** A hint names this many sources. */
const namesMax = 20;

function namesOf(sources: EngineParts['config']['sources']): string {
  const names = sources.slice(0, namesMax).map(({ name }) => name);
  const more = sources.length > namesMax ? ', …; rosterd sources list TEXT searches all' : '';
  return `${oneOf(names, 'rosterd sync')}${more}`;
}
