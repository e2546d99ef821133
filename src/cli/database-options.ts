import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import type { MirrorPlace } from '../reading/read-mirror.js';
import { type CommandContext, configOptions, type OptionDefinition } from './command.js';
import { configOf } from './config-options.js';

/** Where the mirror is unless somebody says otherwise; what `rosterd demo` fills. */
export const defaultDatabase = 'data/mirror.db';

/** Options of every command that only reads the mirror: the file itself is enough. */
export const databaseOptions: readonly OptionDefinition[] = [
  ...configOptions,
  {
    flags: '--database <address>',
    summary: 'read this mirror, a file or postgres://…; no configuration is needed then',
  },
];

export interface ChosenMirror {
  readonly place: MirrorPlace;
  /** Null when the mirror was found without one. */
  readonly config: Config | null;
}

/** The mirror to read: as told, else as configured, else the usual place when a mirror is there. */
export async function mirrorOf(context: CommandContext): Promise<ChosenMirror> {
  const { io, options } = context;
  const told = options.text('database');
  if (told !== undefined) return { place: await placeTold(told, io.cwd, '--database'), config: null };
  const usual = resolve(io.cwd, defaultDatabase);
  const { configFileOf } = await import('../config/load.js');
  const asked = options.text('config') !== undefined || options.list('set').length > 0;
  const configured = existsSync(configFileOf({ file: options.text('config'), cwd: io.cwd, env: io.env }));
  if (!asked && !configured && existsSync(usual)) return { place: sqlite(usual), config: null };
  const { config } = await configOf(context);
  return { place: config.database, config };
}

const sqlite = (file: string): MirrorPlace => ({ kind: 'sqlite', file });

/** A file or an address as it was typed behind `flag`. Throws `usage` for what is no address. */
export async function placeTold(told: string, cwd: string, flag: string): Promise<MirrorPlace> {
  const { isOtherServer, isPostgres, isPostgresUrl, withoutPassword } = await import('../config/database.js');
  if (isOtherServer(told))
    throw new Fault('usage', `${flag} is an address of a database rosterd does not keep mirrors in`, {
      hint: 'a file of SQLite, or postgres://USER@HOST:PORT/DATABASE',
    });
  if (!isPostgres(told)) return sqlite(resolve(cwd, told.replace(/^sqlite:/, '')));
  if (!isPostgresUrl(told))
    throw new Fault('usage', `${flag} is no address of a PostgreSQL database`, {
      hint: 'postgres://USER@HOST:PORT/DATABASE; a password is better told by PGPASSWORD than in a list of processes',
    });
  const { url, password } = withoutPassword(told);
  return { kind: 'postgres', url, password: password === null ? null : { reveal: async () => password } };
}

export async function placeOf(context: CommandContext): Promise<MirrorPlace> {
  return (await mirrorOf(context)).place;
}
