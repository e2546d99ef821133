import { randomBytes } from 'node:crypto';
import { withClient } from './run-databases.js';

/** Looks like nothing else, so that it is found wherever it leaks to; with what a URL would have to encode. */
export const rolePassword = 'canary:p@ss/w%rd?';

export interface OwnDatabase {
  /** As a configuration names it: without its password. */
  readonly url: string;
  /** As its administrator knows it. */
  readonly administrator: string;
  /** Once the database is gone. */
  dropRole(server: string): Promise<void>;
}

/** Gives a database to a role that can do no more than log in, as operators do. */
export async function giveToOwnRole(administrator: string): Promise<OwnDatabase> {
  const role = `app_${randomBytes(5).toString('hex')}`;
  const url = new URL(administrator);
  await withClient(administrator, async (client) => {
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${rolePassword}'`);
    await client.query(`ALTER DATABASE "${url.pathname.slice(1)}" OWNER TO ${role}`);
  });
  url.username = role;
  url.password = '';
  return {
    ...{ url: url.href, administrator },
    dropRole: (server) =>
      withClient(server, async (client) => void (await client.query(`DROP ROLE ${role}`))),
  };
}
