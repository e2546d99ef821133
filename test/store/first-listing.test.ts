import { expect, onTestFinished, test as sqliteTest } from 'vitest';
import type { FeedItem } from '../../src/domain/investment.js';
import type { Cursor } from '../../src/domain/position.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import { documentedQueries } from '../../src/store/documented-queries.js';
import { test } from './both-databases.js';
import { cautious, mirrorFixture } from './mirror-fixture.js';
import { acme, identity, investment, listingPage, record, tombstone } from './samples.js';

test('rows of a first listing are invisible until it is complete, then all visible at once', async () => {
  const { collect, mirror, lease, rows } = await mirrorFixture();
  const final = await collect([[record('inv_1')], [record('inv_2')]]);
  expect(await rows('SELECT * FROM investments')).toEqual([]);
  expect(await rows('SELECT * FROM identities')).toEqual([]);
  expect(await rows('SELECT state, rows_incoming, pages_incoming, rows_held FROM sources')).toEqual([
    { state: 'listing', rows_incoming: 2, pages_incoming: 2, rows_held: 0 },
  ]);
  const { applied } = await mirror.publishListing(lease, final, { share: 0, rows: 0, accepted: false });
  expect(applied).toMatchObject({ added: 2, changed: 0, removed: 0 });
  expect(await rows('SELECT id FROM investments ORDER BY id')).toEqual([{ id: 'inv_1' }, { id: 'inv_2' }]);
  expect(await rows('SELECT state, rows_incoming, pages_incoming, rows_held FROM sources')).toEqual([
    { state: 'sweeping', rows_incoming: 0, pages_incoming: 0, rows_held: 2 },
  ]);
});

test('how many records a first listing will read is kept until it is published or begins again', async () => {
  const { mirror, lease, rows } = await mirrorFixture();
  const expected = () => rows('SELECT rows_expected FROM sources');
  const first = { kind: 'first', fingerprint: 'f1', restarts: 0, notBefore: null } as const;
  await mirror.beginListing(lease, first);
  const page = { mode: 'listing', size: 1, hasMore: true, publishedThrough: null } as const;
  await mirror.addListingPage(lease, { ...page, next: 'a', items: [record('inv_1')], rowsExpected: 400 });
  await mirror.addListingPage(lease, { ...page, next: 'b', items: [record('inv_2')] });
  expect(await expected()).toEqual([{ rows_expected: 400 }]);
  await mirror.beginListing(lease, first);
  expect(await expected()).toEqual([{ rows_expected: null }]);
  const last = { ...page, hasMore: false, next: 'c', items: [record('inv_1')], rowsExpected: 400 };
  await mirror.addListingPage(lease, last);
  expect(await expected()).toEqual([{ rows_expected: 400 }]);
  const final = 'c' as Cursor;
  await mirror.publishListing(lease, final, { share: 0, rows: 0, accepted: false });
  expect(await expected()).toEqual([{ rows_expected: null }]);
});

test('publishing a first listing writes one snapshot change and rewrites no rows', async () => {
  const { list, rows } = await mirrorFixture();
  await list([[record('inv_1'), record('inv_2')]]);
  expect(await rows('SELECT seq, source, id, kind FROM changes')).toEqual([
    { seq: 1, source: 'acme', id: null, kind: 'snapshot' },
  ]);
  expect(await rows('SELECT DISTINCT valid_from, change_seq FROM investment_rows')).toEqual([
    { valid_from: null, change_seq: null },
  ]);
  expect(await rows('SELECT DISTINCT change_seq FROM investments')).toEqual([{ change_seq: 1 }]);
  expect(await rows('SELECT * FROM investment_history')).toEqual([]);
});

test('a first listing stores every field of a record and of its identity', async () => {
  const { list, rows } = await mirrorFixture();
  const full = investment('inv_1', { extra: '{"new":1}', via_entity: true, raised_cents: null });
  const who = identity('Ann', { bio: 'a\ufffdb "c" \u202e 😀', email_hidden: true, extra: '{"x":[]}' });
  await list([[{ kind: 'record', investment: full, identity: who }]]);
  const { row_no, source_no, valid_from, change_seq, ...held } = (
    await rows('SELECT * FROM investment_rows')
  )[0] as Record<string, unknown>;
  expect([row_no, source_no, valid_from, change_seq]).toEqual([1, 1, null, null]);
  expect(held).toEqual({
    ...full,
    needs_whitelisting: 0,
    visible: 1,
    investor_deactivated: 0,
    via_entity: 1,
  });
  expect(await rows('SELECT * FROM identity_rows')).toEqual([{ row_no: 1, ...who, email_hidden: 1 }]);
});

test.each<[string, readonly FeedItem[]]>([
  ['', []],
  [', also when ids are indexed because a record was deleted in between', [tombstone('inv_9')]],
])(
  'a record listed twice is replaced completely by the later entry and counted once%s',
  async (_, between) => {
    const { list, rows } = await mirrorFixture();
    await list([
      [record('inv_1'), record('inv_2'), record('inv_3')],
      between,
      [
        record('inv_1', { status: 'canceled', investor_deactivated: true }, null),
        record('inv_3', {}, identity('Ada')),
      ],
    ]);
    expect(await rows('SELECT id, status FROM investments ORDER BY id')).toEqual([
      { id: 'inv_1', status: 'canceled' },
      { id: 'inv_2', status: 'approved' },
      { id: 'inv_3', status: 'approved' },
    ]);
    expect(await rows('SELECT id, name FROM identities ORDER BY id')).toEqual([
      { id: 'inv_2', name: 'inv_2' },
      { id: 'inv_3', name: 'Ada' },
    ]);
    expect(await rows('SELECT rows_held FROM sources')).toEqual([{ rows_held: 3 }]);
  },
);

test('a record listed twice appears once in a listing in progress, as in the later entry', async () => {
  const { collect, rows, list } = await mirrorFixture();
  await collect([
    [record('inv_1'), record('inv_2')],
    [record('inv_1', { status: 'canceled' }), record('inv_3')],
  ]);
  const incoming = 'SELECT id, status FROM incoming ORDER BY id';
  const expected = [
    { id: 'inv_1', status: 'canceled' },
    { id: 'inv_2', status: 'approved' },
    { id: 'inv_3', status: 'approved' },
  ];
  expect(await rows(incoming)).toEqual(expected);
  await list([[record('inv_1')]]);
  expect(await rows(incoming)).toEqual([]);
});

sqliteTest(
  'the connection that built the indexes plans with the stored statistics, like every later connection',
  async () => {
    const { list, database } = await mirrorFixture();
    await list([[record('inv_1')]]);
    const later = openSqlite(database.file, { readonly: true });
    onTestFinished(() => later.close());
    const plans = ({ raw }: SqliteDatabase) =>
      documentedQueries.map(({ sql }) => raw.prepare(`EXPLAIN QUERY PLAN ${sql}`).all());
    expect(plans(database)).toEqual(plans(later));
  },
);

test('a tombstone on a later page of a first listing removes the record', async () => {
  const { list, rows } = await mirrorFixture();
  await list([
    [record('inv_1'), record('inv_2')],
    [tombstone('inv_1'), tombstone('inv_9')],
  ]);
  expect(await rows('SELECT id FROM investments')).toEqual([{ id: 'inv_2' }]);
  expect(await rows('SELECT rows_held FROM sources')).toEqual([{ rows_held: 1 }]);
});

test('restarting a first listing discards the rows of the unfinished one', async () => {
  const { collect, list, rows } = await mirrorFixture();
  await collect([[record('inv_gone')]]);
  await list([[record('inv_1')]]);
  expect(await rows('SELECT id FROM investments')).toEqual([{ id: 'inv_1' }]);
  expect(await rows('SELECT generation FROM sources')).toEqual([{ generation: 2 }]);
});

sqliteTest('publishing the first listing builds the indexes for analysts', async () => {
  const { list, collect, rows } = await mirrorFixture();
  const indexes =
    "SELECT count(*) AS n FROM sqlite_schema WHERE name LIKE 'investment\\_rows\\_%' ESCAPE '\\'";
  await collect([[record('inv_1')]]);
  expect(await rows(indexes)).toEqual([{ n: 0 }]);
  await list([[record('inv_1')]]);
  expect(await rows(indexes)).toEqual([{ n: 8 }]);
});

test('a listing resumes after a restart: at its page, then at its end, then at its sweep', async () => {
  const { store, mirror, lease, collect } = await mirrorFixture();
  const phase = async () => (await (await mirrorFixture({ store })).mirror.open(acme, 'tester')).phase;
  expect(await phase()).toEqual({ kind: 'empty' });
  const restarted = await mirrorFixture({ store });
  await restarted.mirror.beginListing(restarted.lease, {
    kind: 'first',
    fingerprint: 'f1',
    restarts: 2,
    notBefore: null,
  });
  expect(await phase()).toMatchObject({
    kind: 'listing',
    listing: { token: null, final: null, restarts: 2 },
  });
  const { lease: own, mirror: again } = await mirrorFixture({ store });
  await again.addListingPage(own, {
    mode: 'listing',
    size: 0,
    items: [],
    hasMore: true,
    next: 't',
    publishedThrough: null,
  });
  expect(await phase()).toMatchObject({ kind: 'listing', listing: { token: 't', pages: 1, final: null } });
  const last = await mirrorFixture({ store });
  const final = await last.collect([[record('inv_1')]]);
  expect(await phase()).toMatchObject({ kind: 'listing', listing: { token: null, final: 'p1', rows: 1 } });
  const end = await mirrorFixture({ store });
  await end.mirror.publishListing(end.lease, final, { share: 0, rows: 0, accepted: false });
  expect(await phase()).toMatchObject({
    kind: 'sweeping',
    since: { kind: 'since', time: '2026-01-31T00:00:00.000Z' },
    cursor: 'p1',
    listed: { restarts: 0 },
  });
  await expect(mirror.renew(lease)).rejects.toMatchObject({ code: 'lease_lost' });
  await expect(collect([])).rejects.toMatchObject({ code: 'lease_lost' });
});

test('after a listing of a platform that names no time, the sweep begins at its final cursor, and only at a stored one', async () => {
  const { mirror, lease, rows } = await mirrorFixture();
  const start = { kind: 'first', fingerprint: acme.fingerprint, restarts: 0, notBefore: null } as const;
  await mirror.beginListing(lease, start);
  await mirror.addListingPage(lease, { ...listingPage([record('inv_1')], 'p1'), publishedThrough: null });
  await mirror.publishListing(lease, 'p1' as Cursor, cautious);
  const opened = () => mirror.open(acme, 'tester');
  expect((await opened()).phase).toMatchObject({ kind: 'sweeping', since: { kind: 'cursor', cursor: 'p1' } });
  await rows('DELETE FROM sweeps');
  await expect(opened()).rejects.toThrow('is missing');
});
