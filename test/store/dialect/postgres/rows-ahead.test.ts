import type pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { FeedItem } from '../../../../src/domain/investment.js';
import type { PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { type Fixture, freshStore, mirrorFixture } from '../../mirror-fixture.js';
import { listingPage, record, tombstone } from '../../samples.js';
import { otherHost, waiting } from './other-host.js';

/** A first listing with one written page, so that the rows of the next page are pipelined. */
async function listing(): Promise<Fixture & { readonly postgres: PostgresDatabase }> {
  const store = await freshStore('postgres');
  if (store.kind !== 'postgres') throw new Error('asked for PostgreSQL');
  const fixture = await mirrorFixture({ store });
  const { mirror, lease } = fixture;
  await mirror.beginListing(lease, { kind: 'first', fingerprint: 'f1', restarts: 0, notBefore: null });
  await add(fixture, [record('inv_1'), record('inv_2')]);
  return { ...fixture, postgres: store.postgres };
}

const add = ({ mirror, lease }: Fixture, items: readonly FeedItem[]) =>
  mirror.addListingPage(lease, listingPage(items, 'next', true));

const held = ({ rows }: Fixture) =>
  rows(
    `SELECT r.id, r.status, i.name FROM investment_rows r LEFT JOIN identity_rows i USING (row_no) ORDER BY row_no`,
  );

/** Records the statements of the next transaction in the order sent, and `answered` when the source lock is granted. */
function recordStatements({ pool }: PostgresDatabase): readonly string[] {
  const statements: string[] = [];
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  const spy = vi.spyOn(pool, 'connect').mockImplementationOnce(async () => {
    const client = await connect();
    const ask = client.query.bind(client) as (asked: { text: string; name?: string }) => Promise<unknown>;
    const query = vi.spyOn(client, 'query').mockImplementation((async (
      asked: { text: string; name?: string },
      ...values: []
    ) => {
      statements.push(asked.name ?? String(asked.text).split(';')[0] ?? '');
      const answer = await ask(asked, ...values);
      if (asked.name === 'rosterd_lock_source') statements.push('answered');
      return answer;
    }) as never);
    onTestFinished(() => query.mockRestore());
    return client;
  });
  onTestFinished(() => spy.mockRestore());
  return statements;
}

test('the rows of a later page are sent before the server has granted the source lock', async () => {
  const fixture = await listing();
  const statements = recordStatements(fixture.postgres);
  const { progress } = await add(fixture, [record('inv_3')]);
  expect(statements.indexOf('rosterd_append_rows')).toBeGreaterThan(
    statements.indexOf('rosterd_lock_source'),
  );
  expect(statements.indexOf('answered')).toBeGreaterThan(statements.indexOf('rosterd_append_rows'));
  expect(statements.indexOf('COMMIT')).toBeGreaterThan(statements.indexOf('answered'));
  expect(progress).toMatchObject({ pages: 2, rows: 3 });
  expect(await held(fixture)).toMatchObject([
    { id: 'inv_1' },
    { id: 'inv_2' },
    { id: 'inv_3', name: 'inv_3' },
  ]);
});

test('a pipelined page of a holder whose lease was taken over writes nothing', async () => {
  const fixture = await listing();
  const before = await held(fixture);
  const other = await otherHost(fixture.postgres);
  const late = add(fixture, [record('inv_3')]).catch((error: unknown) => error);
  await waiting(fixture.postgres, 1);
  await other.commit("UPDATE leases SET holder = 'other', fence = fence + 1");
  expect(await late).toMatchObject({ code: 'lease_lost' });
  expect(await held(fixture)).toEqual(before);
  expect(await fixture.rows('SELECT pages, rows FROM listings')).toEqual([{ pages: 1, rows: 2 }]);
});

test('a person forgotten while a pipelined page waits is stored without identity', async () => {
  const fixture = await listing();
  const other = await otherHost(fixture.postgres);
  const page = add(fixture, [record('inv_3'), record('inv_4')]);
  await waiting(fixture.postgres, 1);
  await other.commit("INSERT INTO forgotten (id, forgotten_at) VALUES ('inv_3', '2026-05-01T00:00:00.000Z')");
  await page;
  expect(await held(fixture)).toMatchObject([
    { id: 'inv_1' },
    { id: 'inv_2' },
    { id: 'inv_3', name: null },
    { id: 'inv_4', name: 'inv_4' },
  ]);
  expect(await fixture.rows('SELECT pages, rows FROM listings')).toEqual([{ pages: 2, rows: 4 }]);
});

test('if the unique index appears while a pipelined page waits, no id is stored twice', async () => {
  const fixture = await listing();
  const other = await otherHost(fixture.postgres);
  const page = add(fixture, [record('inv_1', { status: 'later' }), record('inv_3')]);
  await waiting(fixture.postgres, 1);
  await other.commit('CREATE UNIQUE INDEX investment_rows_id ON investment_rows (id, source_no)');
  expect((await page).progress).toMatchObject({ pages: 2, rows: 3 });
  expect(await held(fixture)).toMatchObject([
    { id: 'inv_1', status: 'later' },
    { id: 'inv_2' },
    { id: 'inv_3' },
  ]);
  await add(fixture, [record('inv_2', { status: 'later' }), record('inv_4')]);
  expect(await fixture.rows('SELECT pages, rows FROM listings')).toEqual([{ pages: 3, rows: 4 }]);
});

test('a pipelined page without identity erases the identities of earlier pages and keeps its unknown fields', async () => {
  const fixture = await listing();
  await add(fixture, [record('inv_3', { extra: '{"new":1}' }, null)]);
  expect(await held(fixture)).toMatchObject([
    { id: 'inv_1', name: null },
    { id: 'inv_2', name: null },
    { id: 'inv_3', name: null },
  ]);
  expect(await fixture.rows("SELECT id, extra FROM investment_rows WHERE id = 'inv_3'")).toEqual([
    { id: 'inv_3', extra: '{"new":1}' },
  ]);
});

test('a page that erases a person is not pipelined', async () => {
  const fixture = await listing();
  const statements = recordStatements(fixture.postgres);
  await add(fixture, [record('inv_3'), tombstone('inv_1')]);
  expect(statements.indexOf('rosterd_append_rows')).toBe(-1);
  expect(statements.some((one) => one.includes('synchronous_commit TO DEFAULT'))).toBe(true);
  expect(await held(fixture)).toMatchObject([{ id: 'inv_2' }, { id: 'inv_3' }]);
});
