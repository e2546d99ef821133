import { expect, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.js';
import { describePostgres } from '../../../src/store/dialect/postgres/described-schema.js';
import { migratePostgres } from '../../../src/store/dialect/postgres/migrate.js';
import { openPostgres, type PostgresDatabase } from '../../../src/store/dialect/postgres/open.js';
import { inTransaction } from '../../../src/store/dialect/postgres/transaction.js';
import { migrateSqlite } from '../../../src/store/dialect/sqlite/migrate.js';
import { dictionaryRows } from '../../../src/store/dictionary/data-dictionary.js';
import { publicRelations } from '../../../src/store/dictionary/relations.js';
import { moneyViews, typedViews } from '../../../src/store/dictionary/typed-views.js';
import { freshDatabase, migratedDatabase } from '../../postgres/fresh-database.js';
import { freshMirror, seedInvestment, seedSource } from '../support/mirror.js';

const options = { clock: systemClock, version: '0.0.0-test' };

/** A mirror, by default a copy of one: a migration takes longer than the rest of a test. */
async function postgres(prepare?: string): Promise<PostgresDatabase> {
  const { url } = prepare === undefined ? await migratedDatabase() : await freshDatabase();
  const database = await openPostgres(url, { max: 2 });
  if (prepare !== undefined) await database.pool.query(prepare);
  return database;
}

async function rows(database: PostgresDatabase, sql: string): Promise<Record<string, unknown>[]> {
  return (await database.pool.query<Record<string, unknown>>(sql)).rows;
}

/** A source with two investments, one with every typed column, one with nulls. */
const seeded = `
  INSERT INTO sources (name, fingerprint, state, listed_at, listed_seq, published_through)
    VALUES ('acme', 'f', 'following', '2026-10-20T00:00:00.000Z', 1, '2026-10-20T00:00:00.000Z');
  INSERT INTO investment_rows (source_no, id, status, currency, committed_cents, shares, applied_at, needs_whitelisting,
    visible, investor_deactivated, via_entity, blockers, contracts, observed_at, valid_from, change_seq)
    VALUES (1, 'inv_1', 'active', 'usd', 9223372036854775807, '12.50', '2026-10-19T23:59:59.999Z', 0, 1, 0, 0, '[]', '[]',
            '2026-10-20T00:00:00.000Z', NULL, NULL),
           (1, 'inv_2', 'active', NULL, -150, NULL, NULL, 0, 1, 0, 0, '[]', '[]', '2026-10-20T00:00:00.000Z', NULL, NULL)`;

test('data_dictionary lists every public relation and column on both databases', async () => {
  const { raw } = freshMirror();
  const inFile = raw.prepare('SELECT * FROM data_dictionary ORDER BY relation, position').all();
  const database = await postgres();
  const onServer = await rows(database, 'SELECT * FROM data_dictionary ORDER BY relation, position');
  await database.close();
  expect(inFile).toEqual(dictionaryRows);
  expect(onServer).toEqual(dictionaryRows);
  expect(new Set(dictionaryRows.map(({ relation }) => relation)).size).toBe(publicRelations.length);
});

test('a changed dictionary is written again at the next start, and an unchanged one is left alone', () => {
  const database = freshMirror();
  const { raw } = database;
  raw.exec("UPDATE data_dictionary SET meaning = 'of an older version' WHERE relation = 'changes'");
  raw.exec('DROP VIEW analytics_roster; CREATE VIEW analytics_gone AS SELECT 1');
  migrateSqlite(database, options);
  expect(raw.prepare('SELECT * FROM data_dictionary ORDER BY relation, position').all()).toEqual(
    dictionaryRows,
  );
  expect(
    raw.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'analytics%' ORDER BY name").pluck().all(),
  ).toEqual(moneyViews.map(({ name }) => `analytics_${name}`).sort());
  const before = raw.pragma('data_version', { simple: true });
  const changes = raw.prepare('SELECT total_changes()').pluck();
  const written = changes.get();
  migrateSqlite(database, options);
  expect([raw.pragma('data_version', { simple: true }), changes.get()]).toEqual([before, written]);
});

test('on SQLite the analytics views have the amounts in whole units beside the cents', () => {
  const database = freshMirror();
  seedSource(database, 1, { listed_at: '2026-10-20T00:00:00.000Z', listed_seq: 1 });
  seedInvestment(database, 1, 'inv_1', { committed_cents: 12_345, in_escrow_cents: null });
  expect(
    database.raw.prepare('SELECT id, committed_cents, committed, in_escrow FROM analytics_investments').all(),
  ).toEqual([{ id: 'inv_1', committed_cents: 12_345, committed: 123.45, in_escrow: null }]);
});

test('on PostgreSQL the analytics views have times, numbers and amounts with their types', async () => {
  const database = await postgres();
  await database.pool.query(seeded);
  const found = await rows(
    database,
    `SELECT id, pg_typeof(applied_at)::text AS at_type, applied_at_text, pg_typeof(committed)::text AS money_type,
       committed::text AS committed, committed_cents, shares * 2 AS doubled,
       (applied_at AT TIME ZONE 'UTC')::date::text AS day
     FROM analytics.investments ORDER BY id`,
  );
  const typed = await rows(
    database,
    `SELECT table_name AS view, count(*)::int AS columns FROM information_schema.columns
     WHERE table_schema = 'analytics' GROUP BY 1 ORDER BY 1`,
  );
  // Reads every row of every view, so that each cast is evaluated.
  for (const { name } of typedViews) await rows(database, `SELECT v::text FROM analytics.${name} v`);
  await database.close();
  expect(found).toMatchObject([
    {
      id: 'inv_1',
      at_type: 'timestamp with time zone',
      applied_at_text: '2026-10-19T23:59:59.999Z',
      money_type: 'numeric',
      committed: '92233720368547758.07',
      day: '2026-10-19',
    },
    { id: 'inv_2', applied_at_text: null, committed: '-1.50', doubled: null },
  ]);
  expect(String(found[0]?.doubled)).toBe('25.00');
  expect(typed.map(({ view }) => view)).toEqual(typedViews.map(({ name }) => name).sort());
});

test('on PostgreSQL the typed views have the first and the last time that an investment can have', async () => {
  const database = await postgres();
  await database.pool.query(seeded);
  for (const [id, time] of [
    ['inv_1', '0000-02-29T12:00:00.000Z'],
    ['inv_2', '9999-12-31T23:59:59.999Z'],
  ])
    await database.pool.query('UPDATE investment_rows SET applied_at = $2 WHERE id = $1', [id, time]);
  const found = await rows(
    database,
    `SELECT applied_at_text, to_char(applied_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS BC') AS at,
            (SELECT count(*)::int FROM analytics.roster) AS roster FROM analytics.investments ORDER BY applied_at`,
  );
  const days = await rows(
    database,
    "SELECT to_char(day, 'YYYY-MM-DD BC') AS day FROM analytics.daily_raised ORDER BY analytics.daily_raised.day",
  );
  await database.close();
  expect(found).toEqual([
    { applied_at_text: '0000-02-29T12:00:00.000Z', at: '0001-02-29 12:00:00 BC', roster: 2 },
    { applied_at_text: '9999-12-31T23:59:59.999Z', at: '9999-12-31 23:59:59 AD', roster: 2 },
  ]);
  expect(days).toEqual([{ day: '0001-02-29 BC' }, { day: '9999-12-31 AD' }]);
});

test('on PostgreSQL every public table, view and column has its meaning as a comment', async () => {
  const database = await postgres();
  const without = await rows(
    database,
    `SELECT c.relname || coalesce('.' || a.attname, '') AS what FROM pg_class c
     LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace IN ('public'::regnamespace, 'analytics'::regnamespace) AND c.relkind IN ('r', 'v')
       AND c.relname IN (SELECT relation FROM data_dictionary)
       AND col_description(c.oid, a.attnum) IS NULL`,
  );
  const [changes] = await rows(
    database,
    `SELECT obj_description('changes'::regclass, 'pg_class') AS view, obj_description('change_rows'::regclass) AS inner`,
  );
  await database.close();
  expect(without).toEqual([]);
  expect(changes).toEqual({
    view: 'The local change feed: every change, in commit order.',
    inner: 'Internal, may change with any version. Rows behind changes.',
  });
});

test('on PostgreSQL every table of identity and of the vault has a comment, as its columns have where they are public', async () => {
  const database = await postgres();
  const found = await rows(
    database,
    `SELECT c.relnamespace::regnamespace::text || '.' || c.relname AS name, obj_description(c.oid, 'pg_class') AS meaning
     FROM pg_class c WHERE c.relnamespace IN ('rosterd_identity'::regnamespace, 'rosterd_vault'::regnamespace)
       AND c.relkind IN ('r', 'v', 'm', 'p') ORDER BY 1`,
  );
  const [differing] = await rows(
    database,
    `SELECT count(*)::int AS columns FROM pg_attribute t JOIN pg_attribute v ON v.attname = t.attname
     WHERE t.attrelid = 'rosterd_identity.webhook_inbox'::regclass AND v.attrelid = 'public.webhook_inbox'::regclass
       AND t.attnum > 0 AND col_description(t.attrelid, t.attnum) IS DISTINCT FROM col_description(v.attrelid, v.attnum)`,
  );
  await database.close();
  const inner = 'Internal, may change with any version.';
  expect(found).toEqual([
    { name: 'rosterd_identity.identity_rows', meaning: `${inner} Rows behind identities.` },
    { name: 'rosterd_identity.quarantine_rows', meaning: `${inner} Rows behind quarantine.` },
    {
      name: 'rosterd_identity.staged_rows',
      meaning: `${inner} Rows of a re-listing that differ from the stored rows.`,
    },
    { name: 'rosterd_identity.webhook_inbox', meaning: expect.stringContaining('webhook') },
    {
      name: 'rosterd_vault.vault_entries',
      meaning: expect.stringContaining('encrypted with keys that the server never sees'),
    },
    { name: 'rosterd_vault.vault_locks', meaning: expect.stringMatching(/^Internal.*until when\.$/) },
  ]);
  expect(differing).toEqual({ columns: 0 });
});

test('the analyst role reads the typed views without names only', async () => {
  const database = await postgres();
  const may = await rows(
    database,
    `SELECT role, c.relname AS name FROM unnest(ARRAY['rosterd_analyst', 'rosterd_identity']) AS role, pg_class c
     WHERE c.relnamespace = 'analytics'::regnamespace AND NOT has_table_privilege(role, c.oid, 'SELECT')
     ORDER BY 1, 2`,
  );
  await database.close();
  expect(may).toEqual([
    { role: 'rosterd_analyst', name: 'identities' },
    { role: 'rosterd_analyst', name: 'roster' },
  ]);
});

test('a schema analytics of somebody else is left alone and reported', async () => {
  const database = await postgres(
    'CREATE SCHEMA analytics; CREATE VIEW analytics.roster AS SELECT 1 AS theirs',
  );
  const { withoutTypedViews } = await migratePostgres(database, options);
  const theirs = await rows(database, 'SELECT theirs FROM analytics.roster');
  await database.close();
  expect(withoutTypedViews).toContain('analytics exists and was not made by rosterd');
  expect(theirs).toEqual([{ theirs: 1 }]);
});

/** Describes the schema as a role would; returns why there are no typed views, and whether anything was written. */
function describedAs(database: PostgresDatabase, role: string) {
  return inTransaction(database, async (transaction) => {
    await transaction.run(`SET LOCAL ROLE ${role}`);
    const why = await describePostgres(transaction, database);
    const [written] = await transaction.rows<{ wrote: 0 | 1 }>(
      'SELECT (pg_current_xact_id_if_assigned() IS NOT NULL)::int AS wrote',
    );
    return { why, wrote: written?.wrote };
  });
}

test('beside a schema analytics that another role owns, a second start writes nothing, and a later one only what differs', async () => {
  const database = await postgres('CREATE SCHEMA analytics');
  await migratePostgres(database, options);
  const why = expect.stringContaining('was not made by rosterd') as unknown;
  expect(await describedAs(database, 'postgres')).toEqual({ why, wrote: 0 });
  await database.pool.query(
    `UPDATE data_dictionary SET meaning = 'of an older version' WHERE relation = 'changes';
     DELETE FROM data_dictionary WHERE relation = 'ticks';
     INSERT INTO data_dictionary VALUES ('dropped', 0, NULL, 'view', 'of an older version', NULL);
     COMMENT ON TABLE leases IS 'of an older version';
     COMMENT ON COLUMN changes.seq IS NULL`,
  );
  const untouched = `SELECT xmin::text FROM data_dictionary WHERE relation = 'roster'`;
  const before = await rows(database, untouched);
  expect(await describedAs(database, 'postgres')).toEqual({ why, wrote: 1 });
  expect(await rows(database, 'SELECT * FROM data_dictionary ORDER BY relation, position')).toEqual(
    dictionaryRows,
  );
  expect(await rows(database, untouched)).toEqual(before);
  expect(await describedAs(database, 'postgres')).toEqual({ why, wrote: 0 });
  await database.close();
});

test('a login that may create no schema analytics and owns no vault writes nothing at a second start', async () => {
  const database = await postgres();
  await database.pool.query(
    `DROP SCHEMA analytics CASCADE; GRANT DELETE, INSERT ON data_dictionary TO rosterd_analyst;
     COMMENT ON TABLE rosterd_vault.vault_entries IS NULL`,
  );
  const why = expect.stringContaining('GRANT CREATE ON DATABASE') as unknown;
  expect(await describedAs(database, 'rosterd_analyst')).toEqual({ why, wrote: 0 });
  await database.close();
});

test('typed views are made once, and again when the roles that may read them change', async () => {
  const database = await postgres();
  const oids = `SELECT string_agg(oid::text, ',' ORDER BY oid) AS oids FROM pg_class
    WHERE relnamespace = 'analytics'::regnamespace`;
  const [first] = await rows(database, oids);
  await migratePostgres(database, options);
  const [second] = await rows(database, oids);
  await database.pool.query(
    "COMMENT ON SCHEMA analytics IS 'Typed views of the mirror, made by rosterd (older)'",
  );
  await inTransaction(database, (transaction) => describePostgres(transaction, database));
  const [third] = await rows(database, oids);
  await database.close();
  expect(second).toEqual(first);
  expect(third).not.toEqual(first);
});

test("a user's view over a typed view is named before an upgrade would break it", async () => {
  const database = await postgres();
  await database.pool.query('CREATE VIEW public.mine AS SELECT id FROM analytics.investments');
  await database.pool.query(
    "COMMENT ON SCHEMA analytics IS 'Typed views of the mirror, made by rosterd (older)'",
  );
  await expect(migratePostgres(database, options)).rejects.toMatchObject({
    code: 'database_unusable',
    message: expect.stringContaining('the view mine selects from the schema analytics') as unknown,
  });
  await database.close();
});
