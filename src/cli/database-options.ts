import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import type { DatabaseLocation } from '../reading/read-mirror.js';
import { type CommandContext, configOptions, type OptionDefinition } from './command.js';
import { configOf } from './config-options.js';

/** The default location of the mirror, also for `rosterd demo`. */
export const defaultDatabase = 'data/mirror.db';

/** Options of every command that only reads the mirror and can work without a configuration. */
export const databaseOptions: readonly OptionDefinition[] = [
  ...configOptions,
  {
    flags: '--database <address>',
    summary: 'read this mirror, a file or postgres://…; needs no configuration',
  },
];

export interface ChosenMirror {
  readonly location: DatabaseLocation;
  /** Null when the mirror was found without a configuration. */
  readonly config: Config | null;
}

/** Returns the mirror to read: `--database`, else the configured one; without a configuration, an existing default file. */
export async function mirrorOf(context: CommandContext): Promise<ChosenMirror> {
  const { io, options } = context;
  const told = options.text('database');
  if (told !== undefined)
    return { location: await databaseFromFlag(told, io.cwd, '--database'), config: null };
  const usual = resolve(io.cwd, defaultDatabase);
  const { configFileOf } = await import('../config/document.js');
  const asked = options.text('config') !== undefined || options.list('set').length > 0;
  const configured = existsSync(configFileOf({ file: options.text('config'), cwd: io.cwd, env: io.env }));
  if (!asked && !configured && existsSync(usual)) return { location: await sqlite(usual), config: null };
  const { config } = await configOf(context);
  return { location: config.database, config };
}

async function sqlite(path: string): Promise<DatabaseLocation> {
  const { fileBehind } = await import('../runtime/file-behind.js');
  return { kind: 'sqlite', file: fileBehind(path) };
}

/** Parses the file or address given with `flag`. Throws `usage` for an address rosterd does not support. */
export async function databaseFromFlag(told: string, cwd: string, flag: string): Promise<DatabaseLocation> {
  const { isInMemory, isOtherServer, isPostgres, isPostgresUrl, notInMemory, withoutPassword } = await import(
    '../config/database.js'
  );
  if (isInMemory(told))
    throw new Fault('usage', `${flag} is ${told}: ${notInMemory}`, {
      hint: 'the path of a file, such as data/mirror.db',
    });
  if (isOtherServer(told))
    throw new Fault('usage', `${flag} is the address of a database that rosterd does not support`, {
      hint: 'a SQLite file, or postgres://USER@HOST:PORT/DATABASE',
    });
  if (!isPostgres(told)) return await sqlite(resolve(cwd, told.replace(/^sqlite:/, '')));
  if (!isPostgresUrl(told))
    throw new Fault('usage', `${flag} is not the address of a PostgreSQL database`, {
      hint: 'postgres://USER@HOST:PORT/DATABASE (HOST is %2Frun%2Fpostgresql for a Unix socket), with %25 for %, and options such as sslmode=verify-full after "?"; give the password in PGPASSWORD: an address is visible in the process list',
    });
  const { url, password } = withoutPassword(told);
  return { kind: 'postgres', url, password: password === null ? null : { reveal: async () => password } };
}

export async function locationOf(context: CommandContext): Promise<DatabaseLocation> {
  return (await mirrorOf(context)).location;
}
