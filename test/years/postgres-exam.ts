import pg from 'pg';
import type { Clock } from '../../src/runtime/clock.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { valueTypes } from '../../src/store/dialect/postgres/values.js';
import { type Migration, shippedMigrations } from '../../src/store/migrate.js';
import { damageByPgAmcheck } from '../judges/pg-amcheck.js';
import { damageOf } from '../postgres/amcheck.js';
import { urlOf, withClient } from '../postgres/run-databases.js';
import { filledBy } from '../upgrade/postgres-crashes.js';
import type { Written } from '../upgrade/written.js';
import type { Exam, Row, Size } from './exam.js';
import { countCalls } from './statement-count.js';

/** A database with the rows that a version wrote. Needs a superuser, who may read the server's files. */
export class PostgresExam implements Exam {
  readonly #statements = countCalls(pg.Client.prototype, ['query']);
  #client: pg.Client | null = null;

  private constructor(
    readonly database: string,
    readonly migrations: Exam['migrations'],
    readonly pgAmcheck: string | null,
  ) {}

  /** Fills an empty database. With `pgAmcheck`, that program checks it as well. */
  static async open(url: string, from: Written, pgAmcheck: string | null = null): Promise<PostgresExam> {
    await filledBy(url, from.version, from.migrations.postgres);
    const migrations = { first: from.migrations.postgres, all: shippedMigrations('postgres') };
    return new PostgresExam(url, migrations, pgAmcheck);
  }

  async upgrade(migrations: readonly Migration[], clock: Clock, version: string): Promise<number> {
    const database = await openPostgres(this.database, { max: 1 });
    try {
      return (await migratePostgres(database, { clock, version, migrations })).ran.length;
    } finally {
      await database.close();
    }
  }

  async rows(sql: string, ...values: readonly (string | number)[]): Promise<readonly Row[]> {
    let mark = 0;
    const numbered = sql.replaceAll('?', () => `$${++mark}`);
    return (await (await this.#connected()).query<Row>(numbered, [...values])).rows;
  }

  statements(): number {
    return this.#statements.count();
  }

  /** Vacuums what autovacuum would by its defaults. It looks once a minute, and a virtual day lasts less than one. */
  async daily(): Promise<void> {
    const tables = await this.rows(overdue);
    if (tables.length > 0) await this.rows(`VACUUM (ANALYZE) ${tables.map(({ name }) => name).join(', ')}`);
  }

  /** The content is written anew in a copy of the database, which nothing else may use meanwhile. */
  async size(): Promise<Size> {
    await this.#disconnect();
    const [server, name] = [urlOf(this.database, 'postgres'), new URL(this.database).pathname.slice(1)];
    const copy = `${name}_measured`;
    const drop = `DROP DATABASE IF EXISTS "${copy}" WITH (FORCE)`;
    return withClient(server, async (client) => {
      await client.query(drop);
      await client.query(`CREATE DATABASE "${copy}" TEMPLATE "${name}" STRATEGY file_copy`);
      try {
        return await withClient(urlOf(server, copy), async (copied) => {
          const bytes = async () => Number((await copied.query(occupied)).rows[0].bytes);
          const fileBytes = await bytes();
          const { rows: tables } = await copied.query(ours);
          await copied.query(`VACUUM (FULL) ${tables.map(({ name: table }) => table).join(', ')}`);
          return { fileBytes, contentBytes: await bytes() };
        });
      } finally {
        await client.query(drop);
      }
    });
  }

  /** Every file of the database, after what is in the server's memory was written to it; the log is not among them. */
  async bytes(): Promise<string> {
    const client = await this.#connected();
    await client.query('CHECKPOINT');
    const { rows } = await client.query<{ bytes: Buffer | null }>(files);
    return rows.map(({ bytes }) => bytes?.toString('latin1') ?? '').join('');
  }

  async problems(): Promise<readonly string[]> {
    const damage = await damageOf(await this.#connected());
    const also = this.pgAmcheck === null ? null : await damageByPgAmcheck(this.pgAmcheck, this.database);
    return [...(damage === null ? [] : [`amcheck: ${damage}`]), ...(also === null ? [] : [also])];
  }

  async close(): Promise<void> {
    this.#statements.stop();
    await this.#disconnect();
  }

  async #disconnect(): Promise<void> {
    await this.#client?.end();
    this.#client = null;
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client !== null) return this.#client;
    const client = new pg.Client({ connectionString: this.database, types: valueTypes });
    await client.connect();
    this.#client = client;
    return client;
  }
}

const ours = `
  SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
  WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`;

const occupied = `
  SELECT sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass)) AS bytes FROM pg_tables
  WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`;

/** The thresholds of autovacuum. Catalogs are among the tables: each rewrite of a table replaces rows there. */
const overdue = `
  SELECT format('%I.%I', s.schemaname, s.relname) AS name
  FROM pg_stat_all_tables s JOIN pg_class c ON c.oid = s.relid
  WHERE NOT c.relisshared AND s.schemaname <> 'pg_toast'
    AND (s.n_dead_tup > 50 + 0.2 * greatest(c.reltuples, 0)
      OR s.n_ins_since_vacuum > 1000 + 0.2 * greatest(c.reltuples, 0)
      OR s.n_mod_since_analyze > 50 + 0.1 * greatest(c.reltuples, 0))
  ORDER BY 1`;

/** A file may be deleted between its name and its content. */
const files = `
  SELECT pg_read_binary_file(path, 0, 1 << 29, true) AS bytes
  FROM (SELECT format('base/%s', oid) AS folder FROM pg_database WHERE datname = current_database()) d,
    LATERAL pg_ls_dir(folder) name, LATERAL (SELECT format('%s/%s', folder, name) AS path) p
  WHERE name ~ '^[0-9]'`;
