import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FreshDatabase, migratedDatabase, postgresUrl } from '../postgres/fresh-database.js';
import { keptConnection } from '../postgres/kept-connection.js';
import { giveToOwnRole, rolePassword } from '../postgres/own-role.js';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

export const password = rolePassword;

export interface FilledPostgres extends FilledMirror {
  /** The address in the configuration, without a password. */
  readonly url: string;
  /** The address for an administrator, with a password. */
  readonly administrator: string;
  /** Runs a statement as an administrator. */
  readonly admin: (sql: string) => Promise<readonly Record<string, unknown>[]>;
  /** Writes the configuration again with other values. */
  configure(set: Record<string, unknown>): void;
}

/**
 * A setup as an operator makes it: a role that may only log in, with its own database. The database has the tables of a
 * mirror already, unless `create` says otherwise.
 */
export async function filledPostgres(
  records = 40,
  create: () => Promise<FreshDatabase> = migratedDatabase,
): Promise<FilledPostgres> {
  const database = await create();
  const { url, dropRole } = await giveToOwnRole(database.url, { objects: true });
  const world = await filledMirror(records);
  const file = join(world.folder, 'config.json');
  const configure = (set: Record<string, unknown>) =>
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...set }));
  configure({ database: url, databasePassword: { env: 'DB_PASSWORD' } });
  const io: FilledMirror['io'] = (options) =>
    world.io({ ...options, env: { ACME: world.company.token, DB_PASSWORD: password, ...options?.env } });
  return {
    ...world,
    io,
    configure,
    url,
    administrator: database.url,
    run: async (args, options) => {
      const { rosterd } = await import('./fake-io.js');
      return await rosterd(args, io(options));
    },
    admin: keptConnection(database.url),
    async close() {
      await world.close();
      await database.drop();
      await dropRole(await postgresUrl());
    },
  };
}
