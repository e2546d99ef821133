import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import pg from 'pg';
import { inject } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { urlOf, withClient } from './run-databases.js';

/**
 * A database on the server of this run. `drop` also ends its remaining connections; so does the end of the run.
 */
export interface FreshDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/*
 * PostgreSQL copies a template through its log by default, which takes the server three times the CPU time of copying
 * its files. PostgreSQL 14 always copies files.
 */
const copied = async (): Promise<string> => {
  strategy ??= withClient(await postgresUrl(), async (client) => {
    const { rows } = await client.query<{ major: number }>(
      "SELECT current_setting('server_version_num')::int / 10000 AS major",
    );
    return (rows[0]?.major ?? 0) < 15 ? '' : 'STRATEGY file_copy';
  });
  return strategy;
};

let strategy: Promise<string> | undefined;

/** Creates an empty database. */
export const freshDatabase = (): Promise<FreshDatabase> => createdFrom('template1');

/** Creates a database with the mirror's tables and views, all empty. */
export async function migratedDatabase(): Promise<FreshDatabase> {
  migrated ??= makeTemplate();
  return createdFrom(await migrated);
}

let migrated: Promise<string> | undefined;

/** The first file of the run creates the template; the others wait for it. */
async function makeTemplate(): Promise<string> {
  const { run } = inject('postgres');
  const server = await postgresUrl();
  const name = `${run}_template`;
  await withClient(server, async (client) => {
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
    const { rows } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rows.length > 0) return;
    await client.query(`CREATE DATABASE "${name}_half" ${await copied()}`);
    const database = await openPostgres(urlOf(server, `${name}_half`), { max: 1 });
    await migratePostgres(database, { clock: systemClock, version: '0.0.0-test' });
    await database.close();
    await client.query(`ALTER DATABASE "${name}_half" RENAME TO "${name}"`);
  });
  return name;
}

let administrator: pg.Pool | undefined;

/** One connection for all databases that this process creates and drops. It lets the process end. */
async function administer(sql: string): Promise<void> {
  const connectionString = await postgresUrl();
  administrator ??= new pg.Pool({ connectionString, max: 1, allowExitOnIdle: true }).on('error', () => {});
  await administrator.query(sql);
}

async function createdFrom(template: string): Promise<FreshDatabase> {
  const { run } = inject('postgres');
  const server = await postgresUrl();
  const name = `${run}_${randomBytes(5).toString('hex')}`;
  await administer(`CREATE DATABASE "${name}" TEMPLATE "${template}" ${await copied()}`);
  return {
    url: urlOf(server, name),
    drop: () => administer(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`),
  };
}

let asked: Promise<string> | undefined;

/**
 * Returns the URL of this run's server, for a role that may create databases and roles. Starts the server if
 * needed.
 */
export function postgresUrl(): Promise<string> {
  asked ??= new Promise((resolve, reject) => {
    const { address } = inject('postgres');
    request(address, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(text))));
    })
      .on('error', reject)
      .end();
  });
  return asked;
}
