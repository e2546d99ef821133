import type pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { PostgresDimensions } from '../../../../src/store/dialect/postgres/dimensions.js';
import type { PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { freshStore, mirrorFixture } from '../../mirror-fixture.js';
import { acme, listingPage, record } from '../../samples.js';

/** Records for each later transaction whether its commit waits for the disk. */
function commitsOf({ pool }: PostgresDatabase): () => readonly string[] {
  const seen: string[] = [];
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  const spy = vi.spyOn(pool, 'connect').mockImplementation(async () => {
    const client = await connect();
    let durability = 'waits';
    const query = vi.spyOn(client, 'query');
    const restore = client.release.bind(client);
    client.release = (broken) => {
      for (const [asked] of query.mock.calls as unknown as [string | { text: string }][]) {
        const text = typeof asked === 'string' ? asked : asked.text;
        if (/synchronous_commit = off/.test(text)) durability = 'may be lost';
        else if (/synchronous_commit TO DEFAULT/.test(text)) durability = 'waits after all';
        else if (text === 'COMMIT') seen.push(durability);
      }
      query.mockRestore();
      client.release = restore;
      restore(broken);
    };
    return client;
  });
  // Runs before the hooks registered earlier, which use the real pool.
  onTestFinished(() => spy.mockRestore());
  return () => seen.splice(0);
}

test('only commits that can be repeated skip the wait for the disk; a commit that erases identity always waits', async () => {
  const store = await freshStore('postgres');
  if (store.kind !== 'postgres') throw new Error('asked for PostgreSQL');
  const { list, collect, mirror, lease, delta } = await mirrorFixture({ store });
  await list([[record('inv_1'), record('inv_2')]]);
  const commits = commitsOf(store.postgres);
  await delta([record('inv_1', { shares: '11' })]);
  expect(commits()).toEqual(['waits']);
  await delta([]);
  expect(commits()).toEqual(['may be lost']);
  await collect([[record('inv_1')]], 'relist');
  expect(commits()).toEqual(['waits', 'may be lost']);
  const gone = record('inv_2', { investor_deactivated: true }, null);
  await mirror.addListingPage(lease, listingPage([gone], 'p2'));
  expect(commits()).toEqual(['waits after all']);
  await mirror.release(lease);
  expect(commits()).toEqual(['may be lost']);
});

test('the number of an attempt to list companies and rounds waits for the disk: its process outlives a crash of the server', async () => {
  const store = await freshStore('postgres');
  if (store.kind !== 'postgres') throw new Error('asked for PostgreSQL');
  const { clock } = await mirrorFixture({ store });
  const commits = commitsOf(store.postgres);
  await new PostgresDimensions(store.postgres, clock).begin(acme.name, ['rounds'], []);
  expect(commits()).toEqual(['waits']);
});
