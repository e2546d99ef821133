import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config/config.js';
import { type CommandContext, configOptions, type OptionDefinition } from './command.js';
import { configOf } from './config-options.js';

/** Where the mirror is unless somebody says otherwise; what `rosterd demo` fills. */
export const defaultDatabase = 'data/mirror.db';

/** Options of every command that only reads the mirror: the file itself is enough. */
export const databaseOptions: readonly OptionDefinition[] = [
  ...configOptions,
  { flags: '--database <file>', summary: 'read this mirror; no configuration is needed then' },
];

export interface ChosenMirror {
  readonly file: string;
  /** Null when the file was found without one. */
  readonly config: Config | null;
}

/** The mirror to read: as told, else as configured, else the usual place when a mirror is there. */
export async function mirrorOf(context: CommandContext): Promise<ChosenMirror> {
  const { io, options } = context;
  const told = options.text('database');
  if (told !== undefined) return { file: resolve(io.cwd, told), config: null };
  const usual = resolve(io.cwd, defaultDatabase);
  const { configFileOf } = await import('../config/load.js');
  const asked = options.text('config') !== undefined || options.list('set').length > 0;
  const configured = existsSync(configFileOf({ file: options.text('config'), cwd: io.cwd, env: io.env }));
  if (!asked && !configured && existsSync(usual)) return { file: usual, config: null };
  const { config } = await configOf(context);
  return { file: config.database.file, config };
}

export async function databaseFileOf(context: CommandContext): Promise<string> {
  return (await mirrorOf(context)).file;
}
