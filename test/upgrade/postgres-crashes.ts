import pg from 'pg';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { type Migration, shippedMigrations } from '../../src/store/migrate.js';
import { statementsOf } from './statements.js';
import { fill, unpacked } from './written.js';

const clock = { now: () => Date.parse('2026-11-24T12:00:00.000Z'), monotonic: () => 0, wait: async () => {} };
const endOfSession = 'SELECT pg_terminate_backend(pg_backend_pid());';

/** Returns the migration with the end of its own session after the first `count` statements. The checksum stays. */
export function endingAfter(migration: Migration, count: number): Migration {
  const statements = statementsOf(migration.sql);
  return {
    ...migration,
    sql: [...statements.slice(0, count), endOfSession, ...statements.slice(count)].join('\n'),
  };
}

export interface Crashed {
  readonly points: number;
  /** What a crash left that is neither the schema before nor the one after; empty if nothing. */
  readonly wrong: readonly string[];
}

/**
 * Upgrades the database migration by migration. The server ends the session after statements that `chosen` selects
 * inside the real runner; after them, schema and rows must be as before. Then the migration runs undisturbed.
 */
export async function crashThroughUpgrade(
  url: string,
  from: number,
  chosen: (migration: number, statement: number, statements: number) => boolean,
): Promise<Crashed> {
  const known = shippedMigrations('postgres');
  const wrong: string[] = [];
  let points = 0;
  // One session for all looks, which then reads the catalogs from its own memory.
  const looking = new pg.Client(url);
  await looking.connect();
  try {
    for (const migration of known.slice(from)) {
      const through = known.slice(0, migration.number);
      const total = statementsOf(migration.sql).length;
      const before = await postgresDump(looking);
      const ended: number[] = [];
      for (let count = 0; count <= total; count += 1) {
        if (!chosen(migration.number, count, total)) continue;
        points += 1;
        ended.push(count);
        const failure = await migrated(url, [...through.slice(0, -1), endingAfter(migration, count)]).then(
          () => null,
          (error: unknown) => error,
        );
        if (failure === null)
          wrong.push(`${migration.name}: the session did not end after ${count} of ${total}`);
      }
      // What one session leaves stays there: no later one removes it.
      if (ended.length > 0 && (await postgresDump(looking)) !== before)
        wrong.push(
          `${migration.name}: sessions that ended after ${ended.join(', ')} of ${total} left something`,
        );
      await migrated(url, through);
    }
  } finally {
    await looking.end();
  }
  return { points, wrong };
}

/** Creates the schema of a version in an empty database, with the rows that the version wrote. */
export async function filledBy(url: string, version: string, last: number): Promise<void> {
  await migrated(url, shippedMigrations('postgres').slice(0, last));
  const client = new pg.Client(url);
  await client.connect();
  try {
    await fill(client, JSON.parse(unpacked(version, 'postgres.json').toString()));
  } finally {
    await client.end();
  }
}

async function migrated(url: string, migrations: readonly Migration[]): Promise<void> {
  const database = await openPostgres(url, { max: 1 });
  try {
    await migratePostgres(database, { clock, version: '0.0.0-test', migrations });
  } finally {
    await database.close();
  }
}

/** Returns the schema and a digest of the rows of every table, as one text. */
async function postgresDump(client: pg.Client): Promise<string> {
  const { rows: schema } = await client.query(describing);
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  const { rows: contents } = await client.query(
    tables
      .map(
        ({ name }) =>
          `SELECT '${name}' AS name, count(*) AS n, md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) AS sum FROM ${name} t`,
      )
      .join(' UNION ALL '),
  );
  return JSON.stringify([schema, contents]);
}

const ours = "n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'";
const describing = `
  SELECT n.nspname, c.relname, c.relkind::text AS kind,
    (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       pg_get_expr(d.adbin, d.adrelid)), ',' ORDER BY a.attnum)
     FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
    CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) WHEN c.relkind = 'i' THEN pg_get_indexdef(c.oid) END AS text,
    c.relacl::text AS rights
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${ours}
  UNION ALL
  SELECT n.nspname, p.proname, 'function', pg_get_function_identity_arguments(p.oid), pg_get_functiondef(p.oid), p.proacl::text
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE ${ours} AND p.prokind <> 'a'
  UNION ALL
  SELECT n.nspname, c.conname, 'constraint', c.conrelid::regclass::text, pg_get_constraintdef(c.oid), NULL
  FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace WHERE ${ours}
  UNION ALL
  SELECT n.nspname, t.tgname, 'trigger', c.relname, pg_get_triggerdef(t.oid), NULL
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE ${ours} AND NOT t.tgisinternal
  ORDER BY 1, 2, 3, 4`;
