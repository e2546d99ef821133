import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { InvestmentId } from '../../../../src/domain/ids.js';
import { PostgresErasures } from '../../../../src/store/dialect/postgres/erasures.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import type { Scrubbed } from '../../../../src/store/erasures.js';
import { freshDatabase, migratedDatabase } from '../../../postgres/fresh-database.js';
import { sessionPooler } from '../../../postgres/session-pooler.js';
import { bytesOf, freshStore, mirrorFixture } from '../../mirror-fixture.js';
import { identity, record } from '../../samples.js';

test('a writer in another database of the server blocks the scrub, which reports it', async () => {
  const elsewhere = await freshDatabase();
  const writer = new pg.Client(elsewhere.url);
  await writer.connect();
  onTestFinished(async () => {
    await writer.end();
    await elsewhere.drop();
  });
  const store = await freshStore('postgres');
  if (store.kind !== 'postgres') throw new Error('asked for PostgreSQL');
  const { list, clock, erasures } = await mirrorFixture({ store });
  await list([[record('inv_1'), record('inv_2')]]);

  await writer.query('BEGIN; SELECT pg_current_xact_id()');
  const impatient = new PostgresErasures(store.postgres, clock);
  await impatient.forget('inv_1' as InvestmentId);
  expect(await impatient.scrub()).toMatchObject({ kind: 'blocked', erasures: 1 });
  await writer.query('COMMIT');
  expect(await erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
});

test('a session that may see erased rows and is in no list of sessions blocks the scrub, until it has ended', async () => {
  const store = await freshStore('postgres');
  if (store.kind !== 'postgres') throw new Error('asked for PostgreSQL');
  const { list, clock, erasures } = await mirrorFixture({ store });
  await list([[record('inv_1', {}, identity('CANARY')), record('inv_2')]]);
  const { pool } = store.postgres;
  const reader = await pool.connect();
  onTestFinished(() => reader.release());
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
  // Up to PostgreSQL 17, a session is listed only when it has connected, and may have taken its snapshot long before.
  const unlisted = new Proxy(pool, {
    get: (target, name) =>
      name === 'query'
        ? (text: string, values?: unknown[]) =>
            text.includes('pg_stat_activity') ? { rows: [] } : target.query(text, values)
        : Reflect.get(target, name).bind(target),
  });
  const blind = new PostgresErasures({ ...store.postgres, pool: unlisted }, clock);
  await blind.forget('inv_1' as InvestmentId);
  expect(await blind.scrub()).toMatchObject({ kind: 'blocked', erasures: 1 });
  expect(await bytesOf(store)).toContain('CANARY');
  await reader.query('COMMIT');
  expect(await erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
  expect(await bytesOf(store)).not.toContain('CANARY');
});

/**
 * A mirror with an erasure that waits for its scrub, on a connection made after `settings` became the database's. The rewrite of
 * the names runs the body of a PL/pgSQL function, which may throw.
 */
async function rewriting(settings: readonly string[], body: string) {
  const { url, drop } = await migratedDatabase();
  const opened = async () => {
    const postgres = await openPostgres(url);
    closing.push(() => postgres.close());
    return postgres;
  };
  const closing: (() => Promise<void>)[] = [];
  onTestFinished(async () => {
    for (const close of closing) await close();
    await drop();
  });
  const postgres = await opened();
  const { list, clock, erasures } = await mirrorFixture({ store: { kind: 'postgres', postgres } });
  await list([[record('inv_1'), record('inv_2')]]);
  await erasures.forget('inv_1' as InvestmentId);
  await postgres.pool.query(
    `CREATE FUNCTION rosterd_identity.rewritten(no bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS
       $$ BEGIN ${body} RETURN no; END $$;
     CREATE INDEX ON rosterd_identity.identity_rows (rosterd_identity.rewritten(row_no));`,
  );
  // Servers before PostgreSQL 17 do not know `transaction_timeout`.
  for (const setting of settings)
    await postgres.pool.query(
      `DO $$ BEGIN ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET ${setting};
       EXCEPTION WHEN undefined_object THEN NULL; END $$`,
    );
  const limited = await opened();
  // Writers of other tests on the server block it for moments.
  const scrub = async (): Promise<Scrubbed> => {
    const scrubbed = await new PostgresErasures(limited, clock).scrub();
    return scrubbed.kind === 'blocked' ? scrub() : scrubbed;
  };
  return { scrub, limited, erasures };
}

test('time limits that the database has do not apply to the rewrite of a table, and stay for others', async () => {
  const limits = ['statement_timeout', 'transaction_timeout'];
  const { scrub, limited } = await rewriting(
    limits.map((limit) => `${limit} = '1h'`),
    `IF EXISTS (SELECT 1 FROM pg_settings WHERE name IN ('${limits.join("', '")}') AND setting <> '0')
     THEN RAISE EXCEPTION 'limited'; END IF;`,
  );
  expect(await scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
  const { rows } = await limited.pool.query(
    'SELECT DISTINCT setting FROM pg_settings WHERE name = ANY ($1)',
    [limits],
  );
  expect(rows).toEqual([{ setting: '3600000' }]);
});

test('after a scrub through a pooler that refuses settings of a new connection, statements still wait for locks no longer than before', async () => {
  const { url, drop } = await migratedDatabase();
  onTestFinished(drop);
  const postgres = await openPostgres(await sessionPooler(url), { max: 1, lockTimeoutMs: 9_000 });
  onTestFinished(() => postgres.close());
  const { list, erasures } = await mirrorFixture({ store: { kind: 'postgres', postgres } });
  await list([[record('inv_1'), record('inv_2')]]);
  await erasures.forget('inv_1' as InvestmentId);
  await erasures.scrub();
  expect((await postgres.pool.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '9s' }]);
});

test('a server without room for the rewrite of a table keeps the erasure pending, and the scrub reports it', async () => {
  const { scrub, erasures } = await rewriting(
    ["rosterd_test.no_room = 'on'"],
    `IF current_setting('rosterd_test.no_room', true) = 'on'
     THEN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END IF;`,
  );
  expect(await scrub()).toEqual({ kind: 'no_room', erasures: 1, bytesMissing: null });
  expect(await erasures.pending()).toMatchObject({ receipts: 1 });
  expect(await erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
});
