import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { UserId } from '../../src/domain/ids.js';
import { systemClock } from '../../src/runtime/clock.js';
import { PostgresErasures } from '../../src/store/dialect/postgres/erasures.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { filledBy } from './postgres-crashes.js';
import { writtenVersions } from './written.js';

const samples = `SELECT tablename FROM pg_stats WHERE attname = 'contracts'
  AND concat(most_common_vals::text, histogram_bounds::text) LIKE '%Canary%'`;

test('PostgreSQL: a scrub removes what the planner sampled of an erased person under the schema of 0.1.0', async () => {
  const [written] = writtenVersions;
  if (written === undefined) throw new Error('no files of an earlier version');
  expect(written.version).toBe('0.1.0');
  const { url } = await freshDatabase();
  await filledBy(url, written.version, written.migrations.postgres);
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  const people = await client.query<{ id: string }>(
    'SELECT investor_id AS id FROM investment_rows WHERE investor_id IS NOT NULL ORDER BY row_no LIMIT 1',
  );
  const id = String(people.rows[0]?.id);
  await client.query(
    `UPDATE investment_rows SET investor_id = '${id}', contracts = '[{"signer":"Canary ' || row_no || '"}]'`,
  );
  await client.query('ANALYZE investment_rows');
  const database = await openPostgres(url);
  onTestFinished(() => database.close());
  await migratePostgres(database, { clock: systemClock, version: '0' });
  expect((await client.query(samples)).rows).toEqual([{ tablename: 'investment_rows' }]);

  const erasures = new PostgresErasures(database, systemClock);
  await erasures.forget(id as UserId);
  // Writers in other databases of this server block it.
  await expect.poll(async () => (await erasures.scrub()).kind).toBe('scrubbed');
  expect((await client.query(samples)).rows).toEqual([]);
  const { rows } = await client.query(
    "SELECT attstattarget FROM pg_attribute WHERE attrelid = 'investment_rows'::regclass AND attname = 'contracts'",
  );
  expect(rows).toEqual([{ attstattarget: 0 }]);
});
