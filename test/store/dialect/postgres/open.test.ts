import type pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { addressText } from '../../../../src/store/database-location.js';
import { withPostgresFaults } from '../../../../src/store/dialect/postgres/faults.js';
import { inspectServer } from '../../../../src/store/dialect/postgres/inspect.js';
import { withoutNames } from '../../../../src/store/dialect/postgres/masked-query.js';
import { migratePostgres } from '../../../../src/store/dialect/postgres/migrate.js';
import {
  openPostgres,
  type PostgresDatabase,
  type PostgresOptions,
} from '../../../../src/store/dialect/postgres/open.js';
import {
  analyticsSchemaOf,
  identitySchemaOf,
  vaultSchemaOf,
} from '../../../../src/store/dialect/postgres/schema-names.js';
import { schemaSql } from '../../../../src/store/dialect/postgres/schema-sql.js';
import type { Migration } from '../../../../src/store/migrate.js';
import { freshDatabase, migratedDatabase } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';
import { wayTo } from '../../../postgres/way-to.js';

const base = { clock: systemClock, version: '0.1.0' };

async function emptyDatabase(): Promise<string> {
  const { url, drop } = await freshDatabase();
  onTestFinished(drop);
  return url;
}

/** Returns a database that has every migration, as a copy of one: running them takes half a second. */
async function migratedUrl(): Promise<string> {
  const { url, drop } = await migratedDatabase();
  onTestFinished(drop);
  return url;
}

async function opened(url: string, options: PostgresOptions = {}): Promise<PostgresDatabase> {
  const database = await openPostgres(url, options);
  onTestFinished(() => database.close());
  return database;
}

async function column(database: PostgresDatabase, sql: string): Promise<unknown[]> {
  const { rows } = await database.pool.query(sql);
  return rows.map((row: object) => Object.values(row)[0]);
}

const tables = (database: PostgresDatabase) =>
  column(
    database,
    `SELECT table_schema || '.' || table_name FROM information_schema.tables
     WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );

const step = (number: number, sql: string): Migration => ({
  number,
  name: `step${number}`,
  sql,
  checksum: `sum of ${sql}`,
});
const limits = { rowsMax: null, rowBytesMax: 1_000, bytesMax: null };
const one = step(1, 'CREATE TABLE a (x int); INSERT INTO a VALUES (1)');
const two = step(2, 'CREATE TABLE b (x int)');

/** Node shows only here whether a socket keeps its process from ending. */
interface OpenSocket {
  readonly _handle: { hasRef(): boolean } | null;
}

describe('migrating', () => {
  test('the shipped migrations run once even if several daemons start at the same time', async () => {
    const url = await emptyDatabase();
    const daemons = [await opened(url), await opened(url), await opened(url)];
    const ran = await Promise.all(daemons.map((database) => migratePostgres(database, base)));
    expect(ran.flatMap((one) => one.ran).slice(0, 2)).toEqual(['0001_mirror', '0002_views']);
    expect(await migratePostgres(daemons[0] as PostgresDatabase, base)).toEqual({
      ran: [],
      backup: null,
      withoutTypedViews: null,
    });
    expect(await column(daemons[0] as PostgresDatabase, 'SELECT DISTINCT version FROM migrations')).toEqual([
      '0.1.0',
    ]);
  });

  test('a dry run reports the pending migrations and changes nothing', async () => {
    const database = await opened(await emptyDatabase());
    const { ran } = await migratePostgres(database, { ...base, migrations: [one, two], dryRun: true });
    expect(ran).toEqual(['0001_step1', '0002_step2']);
    expect(await tables(database)).toEqual([]);
  });

  test('an edited migration or a later version is refused, naming it, and nothing runs', async () => {
    const database = await opened(await emptyDatabase());
    await migratePostgres(database, { ...base, version: '9.0.0', migrations: [one] });
    const edited = { ...one, checksum: 'other' };
    await expect(migratePostgres(database, { ...base, migrations: [edited, two] })).rejects.toThrow(
      /step1\) is dirty/,
    );
    await expect(migratePostgres(database, { ...base, migrations: [] })).rejects.toThrow(
      /written by rosterd 9\.0\.0/,
    );
    expect(await tables(database)).toEqual(['public.a', 'public.migrations']);
  });

  test('a failing migration rolls back all migrations of the same run', async () => {
    const database = await opened(await emptyDatabase());
    const broken = step(2, 'CREATE TABLE b (x int); CREATE TABLE a (x int)');
    await expect(migratePostgres(database, { ...base, migrations: [one, broken] })).rejects.toThrow(
      /already exists/,
    );
    expect(await tables(database)).toEqual([]);
  });

  test('every table that can contain names is in a separate schema beside the mirror’s', async () => {
    const url = new URL(await emptyDatabase());
    const first = await opened(url.href);
    await first.pool.query('CREATE SCHEMA team');
    url.searchParams.set('options', '-csearch_path=team');
    const database = await opened(url.href);
    await migratePostgres(first, base);
    await migratePostgres(database, base);
    const found = (await tables(database)) as string[];
    for (const schema of ['rosterd_identity', 'team_identity'])
      expect(found.filter((name) => name.startsWith(`${schema}.`))).toEqual([
        `${schema}.identity_rows`,
        `${schema}.quarantine_rows`,
        `${schema}.staged_rows`,
        `${schema}.webhook_inbox`,
      ]);
    expect(found).toEqual(expect.arrayContaining(['public.sources', 'team.sources']));
    // Unqualified names resolve to the tables of the connection's own schema.
    await database.pool.query('INSERT INTO identity_rows (row_no, name) VALUES (1, $1)', ['Ann']);
    expect(await column(database, 'SELECT name FROM team_identity.identity_rows')).toEqual(['Ann']);
    expect(await column(first, 'SELECT name FROM identity_rows')).toEqual([]);
  });

  async function urlOfSchema(schema: string): Promise<string> {
    const url = new URL(await emptyDatabase());
    const first = await opened(url.href);
    await first.pool.query(`CREATE SCHEMA "${schema}"`);
    url.searchParams.set('options', `-csearch_path=${schema}`);
    return url.href;
  }

  test.each(['s'.repeat(54), 's'.repeat(61), `${'é'.repeat(30)}s`])(
    'a mirror in the schema %s has its own schemas beside it, and names can be withheld',
    async (schema) => {
      const url = await urlOfSchema(schema);
      const database = await opened(url);
      await migratePostgres(database, base);
      await database.pool.query(schemaSql('0021_vault.sql', database));
      const beside = [identitySchemaOf(schema), analyticsSchemaOf(schema), vaultSchemaOf(schema)];
      expect(
        await column(
          database,
          "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema|public)' ORDER BY 1",
        ),
      ).toEqual([schema, ...beside].sort());
      await database.pool.query('INSERT INTO identity_rows (row_no, name) VALUES (1, $1)', ['Ann']);
      await withClient(url, async (client) => {
        await client.query('BEGIN');
        await client.query(`GRANT SELECT ON "${identitySchemaOf(schema)}".identity_rows TO rosterd_analyst`);
        await expect(withoutNames(client, 'SELECT 1', limits)).rejects.toThrow(/may read .*identity_rows/);
        await client.query('ROLLBACK; BEGIN');
        const { description } = await withoutNames(client, 'SELECT count(*) FROM sources', limits);
        expect(description).not.toBeNull();
      });
    },
  );

  test.each(['s'.repeat(62), 's'.repeat(63)])(
    'a schema of that name is refused with the length that is possible: %s',
    async (schema) => {
      await expect(opened(await urlOfSchema(schema))).rejects.toMatchObject({
        code: 'database_unusable',
        message: expect.stringMatching(/schema s+, whose name is too long: 6[23] bytes, and at most 61 /),
        about: { hint: expect.stringContaining('ALTER SCHEMA') },
      });
    },
  );
});

describe('roles', () => {
  async function migratedAs(role: string): Promise<PostgresDatabase> {
    const database = await opened(await migratedUrl());
    const client = await database.pool.connect();
    onTestFinished(() => client.release(true));
    await client.query(`SET ROLE ${role}`);
    return { ...database, pool: client as unknown as pg.Pool };
  }
  const people = ['SELECT name FROM identities', 'SELECT name FROM roster', 'SELECT body FROM quarantine'];
  const bases = [
    ...[
      'SELECT * FROM identity_rows',
      'SELECT * FROM staged_rows',
      'SELECT * FROM rosterd_identity.staged_rows',
    ],
    ...[
      'DELETE FROM investment_rows',
      'SELECT * FROM investment_rows',
      'SELECT * FROM awaiting_deletion_rows',
      "UPDATE sources SET cursor = 'x'",
    ],
  ];

  const mayRead = (table: string) => `SELECT has_table_privilege('rosterd_analyst', '${table}', 'SELECT')`;

  test('rosterd_analyst reads everything except identity and writes nothing', async () => {
    const database = await migratedAs('rosterd_analyst');
    expect(await column(database, 'SELECT count(*) FROM investments')).toEqual([0]);
    expect(await column(database, 'SELECT problem, id FROM quarantine')).toEqual([]);
    expect(await column(database, 'SELECT id FROM awaiting_deletion')).toEqual([]);
    for (const sql of [...people, ...bases])
      await expect(database.pool.query(sql), sql).rejects.toThrow(/permission denied/);
  });

  test('rosterd_identity reads identity only through the views', async () => {
    const database = await migratedAs('rosterd_identity');
    for (const sql of people) expect(await column(database, sql)).toEqual([]);
    for (const sql of bases) await expect(database.pool.query(sql), sql).rejects.toThrow(/permission denied/);
  });

  test('roles without a grant of this version get it at the next start, without a migration', async () => {
    const database = await opened(await migratedUrl());
    await database.pool.query('REVOKE SELECT ON feed_counter, investments FROM rosterd_analyst');
    const { rolesUngranted } = await inspectServer(database);
    expect(rolesUngranted).toEqual(['rosterd_analyst']);
    expect((await migratePostgres(database, base)).ran).toEqual([]);
    for (const table of ['feed_counter', 'investments'])
      expect(await column(database, mayRead(table))).toEqual([1]);
    expect((await inspectServer(database)).rolesUngranted).toEqual([]);
  });

  test('a start as a user who may grant nothing leaves the grants as they are', async () => {
    const admin = await opened(await migratedUrl());
    await admin.pool.query('REVOKE SELECT ON feed_counter FROM rosterd_analyst');
    const user = `writer_${admin.url.slice(-10)}`;
    await admin.pool.query(`CREATE ROLE ${user} LOGIN PASSWORD 'p'`);
    onTestFinished(async () => {
      await admin.pool.query(`DROP OWNED BY ${user} CASCADE; DROP ROLE ${user}`);
    });
    await admin.pool.query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${user};
      GRANT CREATE ON SCHEMA public TO ${user}; GRANT USAGE ON SCHEMA rosterd_identity TO ${user}`);
    const url = new URL(admin.url);
    url.username = user;
    url.password = 'p';
    expect((await migratePostgres(await opened(url.href), base)).ran).toEqual([]);
    expect(await column(admin, mayRead('feed_counter'))).toEqual([0]);
  });

  test('a user without CREATEROLE can migrate, and an administrator can run grants.sql afterwards', async () => {
    const admin = await opened(await emptyDatabase());
    const user = `plain_${admin.url.slice(-10)}`;
    await admin.pool.query(`CREATE ROLE ${user} LOGIN PASSWORD 'p'`);
    const name = new URL(admin.url).pathname.slice(1);
    onTestFinished(async () => {
      await admin.pool.query(`DROP OWNED BY ${user} CASCADE; DROP ROLE ${user}`);
    });
    await admin.pool.query(
      `GRANT CREATE ON DATABASE "${name}" TO ${user}; GRANT CREATE ON SCHEMA public TO ${user}`,
    );
    const url = new URL(admin.url);
    url.username = user;
    url.password = 'p';
    const database = await opened(url.href);
    expect((await migratePostgres(database, base)).ran).not.toEqual([]);
    await admin.pool.query(schemaSql('grants.sql', admin));
    expect(await column(admin, mayRead('investments'))).toEqual([1]);
  });
});

describe('opening', () => {
  test('PostgreSQL values match SQLite: exact integers as numbers, booleans as 1 and 0, times and JSON as text', async () => {
    const database = await opened(await emptyDatabase());
    const { rows } = await database.pool.query(
      `SELECT 9007199254740991::bigint AS most, 9007199254740993::bigint AS more, sum(n) AS total, true AS yes,
              '2026-01-02T03:04:05Z'::timestamptz AT TIME ZONE 'UTC' AS at, '{"b":1,"a":2}'::json AS json
       FROM unnest(ARRAY[1::bigint, 2]) AS n`,
    );
    expect(rows).toEqual([
      {
        most: Number.MAX_SAFE_INTEGER,
        more: '9007199254740993',
        total: 3,
        yes: 1,
        at: '2026-01-02 03:04:05',
        json: '{"b":1,"a":2}',
      },
    ]);
  });

  test('opening read-only refuses a database without a mirror, and later every write', async () => {
    const url = await emptyDatabase();
    await expect(openPostgres(url, { readonly: true })).rejects.toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining('holds no mirror yet'),
    });
    await migratePostgres(await opened(url), base);
    const reader = await opened(url, { readonly: true });
    await expect(reader.pool.query("INSERT INTO forgotten VALUES ('a', 'b')")).rejects.toThrow(/read-only/);
  });

  test('opening refuses a schema of a later version and a database that is not encoded as UTF-8', async () => {
    const url = await migratedUrl();
    const database = await opened(url);
    await database.pool.query("INSERT INTO migrations VALUES (99, 'future', '', '', '9.9.9')");
    await expect(openPostgres(url)).rejects.toThrow(/has schema 99, written by rosterd 9\.9\.9/);
    const name = `${new URL(url).pathname.slice(1)}_latin`;
    await database.pool.query(`CREATE DATABASE "${name}" ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    onTestFinished(async () => {
      await database.pool.query(`DROP DATABASE "${name}" WITH (FORCE)`);
    });
    const latin = new URL(url);
    latin.pathname = `/${name}`;
    await expect(openPostgres(latin.href)).rejects.toThrow(/is encoded as LATIN1/);
  });

  test('a server that asks for a password names the setting when none was given', async () => {
    const url = new URL(await emptyDatabase());
    url.password = '';
    // The driver would look there.
    expect([process.env.PGPASSWORD, process.env.PGPASSFILE]).toEqual([undefined, undefined]);
    await expect(openPostgres(url.href)).rejects.toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining('asks for a password and was given none'),
      about: { hint: expect.stringContaining('"databasePassword"') },
    });
  });

  test('connection errors have a code and a hint and never contain the password', async () => {
    const url = new URL(await emptyDatabase());
    url.password = 'CANARY';
    const missing = new URL(url);
    missing.pathname = '/not_there';
    const silent = new URL(url);
    silent.port = '1';
    for (const [bad, code] of [
      [missing, 'database_busy'],
      [silent, 'database_busy'],
    ] as const) {
      const failed = await openPostgres(bad.href).catch((error: unknown) => error);
      expect(failed).toMatchObject({ code, about: { hint: expect.any(String) } });
      expect(String(failed)).not.toContain('CANARY');
    }
    expect(addressText('postgres://ann:CANARY@db.example:5433/mirror?sslmode=require&password=CANARY')).toBe(
      'postgres://ann@db.example:5433/mirror',
    );
  });

  test('a database that was closed lets the process end, although its server says nothing any more', async () => {
    const way = await wayTo(await emptyDatabase());
    const database = await openPostgres(way.url);
    const client = await database.pool.connect();
    const { stream } = client.connection as unknown as { readonly stream: OpenSocket };
    client.release();
    way.swallow();
    await database.close();
    expect(stream._handle?.hasRef() ?? false).toBe(false);
  });

  test('a statement timeout and an ended session fail with database_busy, which can be retried', async () => {
    const url = await emptyDatabase();
    const database = await opened(url, { statementTimeoutMs: 3_600_000 });
    expect(await column(database, 'SHOW statement_timeout')).toEqual(['1h']);
    // Shorter for this statement only: a busy server may need longer for any other.
    const slow = withPostgresFaults(database.url, () =>
      database.pool.query("SET LOCAL statement_timeout = '1ms'; SELECT pg_sleep(3600)"),
    );
    await expect(slow).rejects.toMatchObject({ code: 'database_busy' });
    const ended = withPostgresFaults(database.url, () =>
      database.pool.query('SELECT pg_terminate_backend(pg_backend_pid())'),
    );
    await expect(ended).rejects.toMatchObject({ code: 'database_busy' });
    expect(await column(database, 'SELECT 1')).toEqual([1]);
  });
});
