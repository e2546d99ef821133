import { randomBytes } from 'node:crypto';
import { withClient } from './run-databases.js';

/** Unique, so that a leak can be found, and with characters that a URL must encode. */
export const rolePassword = 'canary:p@ss/w%rd?';

export interface OwnDatabase {
  /** As written in a configuration: without its password. */
  readonly url: string;
  /** The URL for the administrator. */
  readonly administrator: string;
  /** Call it once the database is dropped. */
  dropRole(server: string): Promise<void>;
}

/** Gives a database to a role that can only log in, as operators do. */
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
    url: url.href,
    administrator,
    dropRole: (server) =>
      withClient(server, async (client) => void (await client.query(`DROP ROLE ${role}`))),
  };
}
