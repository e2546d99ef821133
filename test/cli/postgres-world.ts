import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freshDatabase, postgresUrl } from '../postgres/fresh-database.js';
import { giveToOwnRole, rolePassword } from '../postgres/own-role.js';
import { withClient } from '../postgres/run-databases.js';
import { type MirrorWorld, mirrorWorld } from './mirror-world.js';

export const password = rolePassword;

export interface PostgresWorld extends MirrorWorld {
  /** The address in the configuration, without a password. */
  readonly url: string;
  /** The address for an administrator. */
  admin(sql: string): Promise<readonly Record<string, unknown>[]>;
  /** Writes the configuration again with other values. */
  configure(set: Record<string, unknown>): void;
}

/** A setup as an operator makes it: a role that may only log in, with its own database. */
export async function postgresWorld(records = 40): Promise<PostgresWorld> {
  const database = await freshDatabase();
  const { url, dropRole } = await giveToOwnRole(database.url);
  const world = await mirrorWorld(records);
  const file = join(world.folder, 'config.json');
  const configure = (set: Record<string, unknown>) =>
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...set }));
  configure({ database: url, databasePassword: { env: 'DB_PASSWORD' } });
  const io: MirrorWorld['io'] = (options) =>
    world.io({ ...options, env: { ACME: world.company.token, DB_PASSWORD: password, ...options?.env } });
  return {
    ...world,
    io,
    configure,
    url,
    run: async (args, options) => {
      const { rosterd } = await import('./world.js');
      return await rosterd(args, io(options));
    },
    admin: (sql) => withClient(database.url, async (client) => (await client.query(sql)).rows),
    async close() {
      await world.close();
      await database.drop();
      await dropRole(await postgresUrl());
    },
  };
}
