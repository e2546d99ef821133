import { expect, test } from 'vitest';
import type { Cursor } from '../../../../src/domain/position.js';
import { mirrorFixture, type Store } from '../../mirror-fixture.js';
import { postgresStore } from '../../postgres-store.js';
import { deltaPage, listingPage, record } from '../../samples.js';

/* A crash of the server loses commits that did not wait for the disk; a promotion loses those that the replica lacks. */

const lost = {
  code: 'lease_lost',
  message: 'the database no longer has what was last written to source acme',
};

const onPostgres = async (): Promise<{ store: Store }> => ({
  store: { kind: 'postgres', postgres: await postgresStore() },
});

test('a page of a listing is refused when the database has lost the page before it', async () => {
  const { mirror, lease, rows } = await mirrorFixture(await onPostgres());
  await mirror.beginListing(lease, { kind: 'first', fingerprint: 'f1', restarts: 0, notBefore: null });
  await mirror.addListingPage(lease, listingPage([record('inv_1')], 'p1', true));
  await mirror.addListingPage(lease, listingPage([record('inv_2')], 'p2', true));
  await rows("UPDATE listings SET pages = 1, token = 'p1'");
  await rows("DELETE FROM investment_rows WHERE id = 'inv_2'");
  await expect(
    mirror.addListingPage(lease, listingPage([record('inv_3')], 'p3', false)),
  ).rejects.toMatchObject(lost);

  const again = await mirror.open({ name: lease.source, fingerprint: 'f1' }, 'tester');
  expect(again.phase).toMatchObject({ kind: 'listing', listing: { pages: 1, token: 'p1' } });
  await mirror.addListingPage(again.lease, listingPage([record('inv_2')], 'p2', true));
  expect(await rows('SELECT pages FROM listings')).toEqual([{ pages: 2 }]);
});

test('a page of the feed is refused when the database went back to the cursor before it, even under its own fence', async () => {
  const { mirror, list, delta, lease, rows } = await mirrorFixture(await onPostgres());
  await list([[record('inv_1')]]);
  await delta([record('inv_2')], 'c1');
  await delta([record('inv_3')], 'c2');
  await rows("UPDATE sources SET cursor = 'c1'");
  await expect(delta([record('inv_4')], 'c3')).rejects.toMatchObject(lost);
  expect(await rows("SELECT id FROM investments WHERE id = 'inv_4'")).toEqual([]);

  const { lease: fresh, phase } = await mirror.open({ name: lease.source, fingerprint: 'f1' }, 'tester');
  expect(phase).toMatchObject({ kind: 'following', cursor: 'c1' });
  await mirror.applyPage(fresh, deltaPage([record('inv_3'), record('inv_4')], 'c3'), {
    kind: 'following',
    cursor: 'c3' as Cursor,
  });
  expect(await rows("SELECT id FROM investments WHERE id = 'inv_4'")).toEqual([{ id: 'inv_4' }]);
});

test.each(['first', 'relist'] as const)(
  'a page of the sweep is refused when the database has lost the publication of the listing before it (%s)',
  async (kind) => {
    const { mirror, list, collect, lease, rows } = await mirrorFixture(await onPostgres());
    if (kind === 'relist') await list([[record('inv_1')]]);
    const final = await collect([[record('inv_1', { status: 'newer' }), record('inv_2')]], kind);
    const copies = ['sources', 'listings', 'sweeps', 'investment_rows', 'staged_rows', 'staged_pages'];
    for (const table of copies) await rows(`CREATE TABLE kept_${table} AS TABLE ${table}`);
    await mirror.publishListing(lease, final, { share: 1, rows: 0, accepted: true });
    // As a replica that did not receive the publication.
    for (const table of copies.toReversed().filter((table) => table !== 'sources'))
      await rows(`DELETE FROM ${table}`);
    await rows(`UPDATE sources SET (state, cursor, listed_at, listed_seq) =
      (SELECT state, cursor, listed_at, listed_seq FROM kept_sources)`);
    for (const table of copies.filter((table) => table !== 'sources'))
      await rows(`INSERT INTO ${table} OVERRIDING SYSTEM VALUE TABLE kept_${table}`);
    for (const table of copies) await rows(`DROP TABLE kept_${table}`);

    const sweep = mirror.applyPage(lease, deltaPage([record('inv_3')], 'c1'), {
      kind: 'following',
      cursor: 'c1' as Cursor,
    });
    await expect(sweep).rejects.toMatchObject(lost);
    const again = await mirror.open({ name: lease.source, fingerprint: 'f1' }, 'tester');
    expect(again.phase).toMatchObject({ kind: 'listing', listing: { kind, final } });
    await mirror.publishListing(again.lease, final, { share: 1, rows: 0, accepted: true });
    expect(await rows('SELECT id, status FROM investments ORDER BY id')).toEqual([
      { id: 'inv_1', status: 'newer' },
      { id: 'inv_2', status: 'approved' },
    ]);
  },
);
