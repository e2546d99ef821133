import { randomBytes } from 'node:crypto';
import pg from 'pg';

/**
 * Every database of one test run starts with this prefix, to tell them from others and drop them together.
 */
export const runName = () => `rosterd_test_${randomBytes(5).toString('hex')}`;

export async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export const urlOf = (server: string, database: string): string => {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
};

/** Includes databases that a stopped test file left behind. */
export async function dropDatabasesOf(server: string, run: string): Promise<void> {
  await withClient(server, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
      [run],
    );
    for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS "${datname}" WITH (FORCE)`);
  });
}

/** Creates an empty database on a server, for commands outside vitest. Returns its address. */
export async function createDatabase(server: string, name: string): Promise<string> {
  await withClient(server, (client) => client.query(`CREATE DATABASE "${name}"`));
  return urlOf(server, name);
}
