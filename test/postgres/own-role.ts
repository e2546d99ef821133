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

/** Changes the owner of everything that an administrator created in the database, as if the role had. */
const giveObjects = (role: string) => `DO $$ DECLARE statement text; BEGIN
  FOR statement IN
    WITH schemas AS (SELECT oid, nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$)')
    SELECT format('ALTER SCHEMA %I OWNER TO ${role}', nspname) FROM schemas WHERE nspname <> 'public'
    UNION ALL
    SELECT format('ALTER TABLE %s OWNER TO ${role}', c.oid::regclass)
    FROM pg_class c JOIN schemas s ON s.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v') OR c.relkind = 'S' AND NOT EXISTS
      (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i'))
    UNION ALL
    SELECT format('ALTER ROUTINE %s OWNER TO ${role}', p.oid::regprocedure)
    FROM pg_proc p JOIN schemas s ON s.oid = p.pronamespace
  LOOP EXECUTE statement; END LOOP;
END $$`;

/** Gives a database to a role that can only log in, as operators do. `objects`: with the tables that are in it. */
export async function giveToOwnRole(
  administrator: string,
  { objects = false }: { readonly objects?: boolean } = {},
): Promise<OwnDatabase> {
  const role = `app_${randomBytes(5).toString('hex')}`;
  const url = new URL(administrator);
  await withClient(administrator, async (client) => {
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${rolePassword}'`);
    await client.query(`ALTER DATABASE "${url.pathname.slice(1)}" OWNER TO ${role}`);
    if (objects) await client.query(giveObjects(role));
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
