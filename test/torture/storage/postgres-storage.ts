import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../../../src/runtime/clock.js';
import { isServerAway } from '../../../src/store/dialect/postgres/faults.js';
import { valueTypes } from '../../../src/store/dialect/postgres/values.js';
import { newestMigration } from '../../../src/store/newest-migration.js';
import { damageByPgAmcheck } from '../../judges/pg-amcheck.js';
import { damageOf } from '../../postgres/amcheck.js';
import { urlOf, withClient } from '../../postgres/run-databases.js';
import type { PostgresServer } from '../../postgres/server.js';
import type { Sight, Storage } from './storage.js';

/** Creates a tablespace in a folder of its own below this one, and returns its name. */
export async function smallTablespace({ url, data }: PostgresServer, folder: string): Promise<string> {
  const tables = join(folder, 'tables');
  mkdirSync(tables, { mode: 0o700 });
  const { uid, gid } = statSync(data);
  chownSync(tables, uid, gid);
  await withClient(url, (client) => client.query(`CREATE TABLESPACE small LOCATION '${tables}'`));
  return 'small';
}

interface PostgresOptions {
  readonly tablespace?: string | undefined;
  /** The program that checks the database as well; null where it is not installed. */
  readonly pgAmcheck?: string | null;
}

/** A mirror in a database of its own on this server, in this tablespace or the default one. */
export async function postgresStorage(
  server: string,
  { tablespace = 'pg_default', pgAmcheck = null }: PostgresOptions = {},
): Promise<Storage> {
  const name = `rosterd_torture_${randomBytes(5).toString('hex')}`;
  const url = urlOf(server, name);
  const administer = (...commands: readonly string[]) =>
    withClient(server, async (client) => {
      for (const command of commands) await client.query(command);
    });
  const drop = `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`;
  const create = `CREATE DATABASE "${name}" TABLESPACE ${tablespace}`;
  await administer(create);
  const sights = new Sights(url, pgAmcheck);
  const look = <Result>(work: (sight: Sight) => Promise<Result>) => sights.look(work);
  return {
    kind: 'postgres',
    setting: url,
    look,
    lookAtRemains: look,
    forget: () => administer(drop, create),
    expireLeases: () =>
      withClient(url, async (client) => {
        await client.query("UPDATE leases SET expires_at = '2000-01-01T00:00:00.000Z'");
      }),
    close: async () => {
      await sights.close();
      await administer(drop);
    },
  };
}

/**
 * Looks over one connection: a judge that waits looks forty times a second, and a new session reads the catalogs anew. The
 * next look connects again after the server, or the end of the database, has closed it.
 */
class Sights {
  #client: pg.Client | null = null;

  constructor(
    readonly url: string,
    readonly pgAmcheck: string | null,
  ) {}

  async look<Result>(work: (sight: Sight) => Promise<Result>): Promise<Result> {
    const known = this.#client;
    // Taken out meanwhile, so that two looks at once have a connection each.
    this.#client = null;
    const isOpen = await known?.query('SELECT 1').then(
      () => true,
      () => false,
    );
    return await this.#over(known !== null && isOpen ? known : await connected(this.url), work);
  }

  async close(): Promise<void> {
    await this.#client?.end();
    this.#client = null;
  }

  async #over<Result>(client: pg.Client, work: (sight: Sight) => Promise<Result>): Promise<Result> {
    let isKept = false;
    try {
      const result = await work(sightOf(client, this.url, this.pgAmcheck));
      isKept = this.#client === null;
      return result;
    } finally {
      if (isKept) this.#client = client;
      else await client.end().catch(() => {});
    }
  }
}

const sightOf = (client: pg.Client, url: string, pgAmcheck: string | null): Sight => ({
  rows: async <Row>(sql: string) => (await client.query(sql)).rows as Row[],
  isWhole: async () => {
    const { rows } = await client.query<{ there: number }>(
      "SELECT to_regclass('migrations') IS NOT NULL AS there",
    );
    if (rows[0]?.there !== 1) return false;
    const { rows: newest } = await client.query<{ number: number }>(
      'SELECT max(number) AS number FROM migrations',
    );
    return newest[0]?.number === newestMigration('postgres');
  },
  damage: async () => {
    const damage = await damageOf(client);
    return damage === null && pgAmcheck !== null ? damageByPgAmcheck(pgAmcheck, url) : damage;
  },
});

/** Resolves once the server accepts connections. */
export async function untilServing(server: string): Promise<void> {
  await (await connected(server)).end();
}

const triesMax = 300;

/** Waits for a server that is recovering. */
async function connected(url: string): Promise<pg.Client> {
  for (let tries = 1; ; tries += 1) {
    const client = new pg.Client({ connectionString: url, types: valueTypes, application_name: 'the judge' });
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (tries === triesMax || !isServerAway(error)) throw error;
      await systemClock.wait(100);
    }
  }
}
