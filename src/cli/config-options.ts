import type { ConfigRequest, LoadedConfig } from '../config/document.js';
import { defined } from '../domain/defined.js';
import { Fault } from '../domain/fault.js';
import type { CommandContext } from './command.js';

/** Loads the configuration with the flags of this command line; warnings go to stderr. */
export async function configOf(
  { io, options, out }: CommandContext,
  more: Pick<ConfigRequest, 'draft' | 'flags'> = {},
): Promise<LoadedConfig> {
  const { quickLoadConfig } = await import('../config/quick-load.js');
  const level = options.text('logLevel');
  const format = options.text('logFormat');
  const loaded = await quickLoadConfig({
    file: options.text('config'),
    cwd: io.cwd,
    env: io.env,
    ...defined({ draft: more.draft }),
    flags: [
      ...(more.flags ?? []),
      ...options.list('set').map(parseSetting),
      ...(level === undefined ? [] : [{ path: 'log.level', text: level, flag: '--log-level' }]),
      ...(format === undefined ? [] : [{ path: 'log.format', text: format, flag: '--log-format' }]),
    ],
  });
  for (const warning of loaded.warnings) out.warn(warning);
  return loaded;
}

function parseSetting(setting: string): { path: string; text: string; flag: string } {
  const equals = setting.indexOf('=');
  if (equals < 1) {
    throw new Fault('usage', '--set needs a path and a value', { hint: '--set sync.intervalSeconds=30' });
  }
  return { path: setting.slice(0, equals).trim(), text: setting.slice(equals + 1), flag: '--set' };
}
