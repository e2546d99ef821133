import { expect, test } from 'vitest';
import type { InvestmentId, SourceName } from '../../../../src/domain/ids.js';
import type { PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { type Fixture, freshStore, mirrorFixture, type Store } from '../../mirror-fixture.js';
import { acme, identity, record } from '../../samples.js';
import { otherHost, waiting } from './other-host.js';

async function postgres(): Promise<{ readonly store: Store; readonly database: PostgresDatabase }> {
  const store = await freshStore('postgres');
  if (store.kind !== 'postgres') throw new Error('asked for PostgreSQL');
  return { store, database: store.postgres };
}

test('a holder whose lease was taken over while it waited for the row lock writes nothing', async () => {
  const { store, database } = await postgres();
  const { list, delta, rows } = await mirrorFixture({ store });
  await list([[record('inv_1')]]);
  const other = await otherHost(database);
  const late = delta([record('inv_1', { status: 'late' })]).catch((error: unknown) => error);
  await waiting(database, 1);
  await other.commit("UPDATE leases SET holder = 'other', fence = fence + 1");
  expect(await late).toMatchObject({ code: 'lease_lost' });
  expect(await rows('SELECT status FROM investments')).toEqual([{ status: 'approved' }]);
  expect(await rows('SELECT max(seq) AS seq FROM changes')).toEqual([{ seq: 1 }]);
});

test('a lease can be renewed during a long commit of its source', async () => {
  const { store, database } = await postgres();
  const { mirror, lease, rows } = await mirrorFixture({ store });
  const before = await rows('SELECT expires_at FROM leases');
  const other = await otherHost(database);
  await mirror.renew(lease);
  expect(await rows('SELECT expires_at FROM leases')).not.toEqual(before);
  await other.commit();
});

test('a person forgotten while a page with them is written is not stored afterwards', async () => {
  const { store, database } = await postgres();
  const fixture = await mirrorFixture({ store });
  await fixture.list([[record('inv_1'), record('inv_2')]]);
  const other = await otherHost(database);
  const page = fixture.delta([record('inv_1', {}, identity('Anew')), record('inv_2', {}, identity('Anew'))]);
  await waiting(database, 1);
  const forgetting = fixture.erasures.forget('inv_1' as InvestmentId);
  await waiting(database, 2);
  await other.commit();
  await Promise.all([page, forgetting]);
  expect(await fixture.rows('SELECT id, name FROM identities')).toEqual([{ id: 'inv_2', name: 'Anew' }]);
});

test('change numbers have no gaps and become visible in order while several sources commit concurrently', async () => {
  const { store, database } = await postgres();
  const sources: Fixture[] = [];
  for (let n = 0; n < 5; n += 1) {
    const source = { ...acme, name: `source${n}` as SourceName };
    const fixture = await mirrorFixture({ store, source });
    await fixture.list([[record('inv_1')]]);
    sources.push(fixture);
  }
  let done = false;
  const writing = Promise.all(
    sources.map(async ({ delta }) => {
      for (let n = 0; n < 12; n += 1)
        await delta([record('inv_1', { shares: String(n) }), record(`inv_n${n}`)]);
    }),
  ).finally(() => {
    done = true;
  });
  const seen: { last: number; rows: number }[] = [];
  while (!done) {
    const { rows } = await database.pool.query<{ last: number; rows: number }>(
      'SELECT max(seq) AS last, count(*) AS rows FROM changes',
    );
    seen.push(...rows);
  }
  await writing;
  expect(seen.filter(({ last, rows }) => last !== rows)).toEqual([]);
  expect(await sources[0]?.rows('SELECT max(seq) AS last, count(*) AS rows FROM changes')).toEqual([
    // Each of the twelve pages changes one record and adds one.
    { last: 5 + 5 * 24, rows: 5 + 5 * 24 },
  ]);
});
