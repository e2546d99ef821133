import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freshDatabase, postgresUrl } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { type MirrorWorld, mirrorWorld } from './mirror-world.js';

/** Looks like nothing else, so that it is found wherever it leaks to; with what a URL would have to encode. */
export const password = 'canary:p@ss/w%rd?';

export interface PostgresWorld extends MirrorWorld {
  /** The mirror's own, as the configuration names it: without a password. */
  readonly url: string;
  /** As an administrator. */
  admin(sql: string): Promise<readonly Record<string, unknown>[]>;
  /** The configuration once more, with other values in it. */
  configure(set: Record<string, unknown>): void;
}

/** As an operator makes it: a role that can do no more than log in, and a database of its own. */
export async function postgresWorld(records = 40): Promise<PostgresWorld> {
  const database = await freshDatabase();
  const role = `app_${randomBytes(5).toString('hex')}`;
  const server = await postgresUrl();
  const name = new URL(database.url).pathname.slice(1);
  await withClient(server, async (client) => {
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
    await client.query(`ALTER DATABASE "${name}" OWNER TO ${role}`);
  });
  const url = new URL(database.url);
  url.username = role;
  url.password = '';
  const world = await mirrorWorld(records);
  const file = join(world.folder, 'config.json');
  const configure = (set: Record<string, unknown>) =>
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...set }));
  configure({ database: url.href, databasePassword: { env: 'DB_PASSWORD' } });
  const io: MirrorWorld['io'] = (options) =>
    world.io({ ...options, env: { ACME: world.company.token, DB_PASSWORD: password, ...options?.env } });
  return {
    ...world,
    ...{ io, configure, url: url.href },
    run: async (args, options) => {
      const { rosterd } = await import('./world.js');
      return await rosterd(args, io(options));
    },
    admin: (sql) => withClient(database.url, async (client) => (await client.query(sql)).rows),
    async close() {
      await world.close();
      await database.drop();
      await withClient(server, (client) => client.query(`DROP ROLE ${role}`));
    },
  };
}
