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
