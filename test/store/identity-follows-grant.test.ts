import { describe, expect } from 'vitest';
import type { InvestmentId, SourceName, UserId } from '../../src/domain/ids.js';
import type { FeedItem } from '../../src/domain/investment.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { test } from './both-databases.js';
import { cautious, type Fixture, mirrorFixture } from './mirror-fixture.js';
import { acme, identity, listingPage, record, rejected, tombstone } from './samples.js';

const names = async ({ rows }: Fixture) =>
  (
    (await rows(
      'SELECT r.id, i.name FROM identity_rows i JOIN investment_rows r USING (row_no) ORDER BY 1',
    )) as { id: string; name: string }[]
  ).map(({ id, name }) => `${id}:${name}`);
const receipts = ({ rows }: Fixture) =>
  rows('SELECT source_no, id, cause, scrubbed_at FROM erasures ORDER BY erasure');
const receipt = (id: string | null, cause: string) => ({ source_no: 1, id, cause, scrubbed_at: null });
const forgetting = ({ erasures }: Fixture) => erasures;

/** Locks what writes of others wait for. Returns a function that ends the lock. */
async function writeLock({ store }: Fixture): Promise<() => Promise<void>> {
  if (store.kind === 'sqlite') {
    const other = openSqlite(store.sqlite.file);
    other.raw.exec('BEGIN IMMEDIATE');
    return async () => other.close();
  }
  const client = await store.postgres.pool.connect();
  await client.query('BEGIN; SELECT 1 FROM sources FOR UPDATE');
  return async () => client.release(true);
}

describe('forgotten people stay forgotten', () => {
  test('a delta with a forgotten person stores no identity and counts as unchanged', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1', { investor_id: 'usr_1' }), record('inv_2')]]);
    await forgetting(fixture).forget('usr_1' as UserId);
    expect(await fixture.delta([record('inv_1', { investor_id: 'usr_1' }, identity('again'))])).toMatchObject(
      {
        changed: 0,
        unchanged: 1,
      },
    );
    await fixture.delta([
      record('inv_1', { investor_id: 'usr_1', status: 'executed' }, identity('again')),
      record('inv_3', { investor_id: 'usr_1' }, identity('anew')),
    ]);
    expect(await names(fixture)).toEqual(['inv_2:inv_2']);
    expect(await fixture.rows('SELECT identity_included FROM sources')).toEqual([{ identity_included: 1 }]);
  });

  test('a later page of a first listing with a forgotten person stores no identity', async () => {
    const fixture = await mirrorFixture();
    const { mirror, lease } = fixture;
    await fixture.collect([[record('inv_1', { investor_id: 'usr_1' })]]);
    await forgetting(fixture).forget('usr_1' as UserId);
    await mirror.addListingPage(lease, listingPage([record('inv_2', { investor_id: 'usr_1' })], 'p2'));
    expect(await names(fixture)).toEqual([]);
  });

  test('a re-listing stores no identity of people forgotten while it runs, staged before or after', async () => {
    const fixture = await mirrorFixture();
    const { mirror, lease } = fixture;
    await fixture.list([[record('inv_1'), record('inv_2')]]);
    await fixture.collect([[record('inv_1', { status: 'executed' }, identity('staged'))]], 'relist');
    await forgetting(fixture).forget('inv_1' as InvestmentId);
    await forgetting(fixture).forget('inv_2' as InvestmentId);
    await mirror.addListingPage(lease, listingPage([record('inv_2', {}, identity('late'))], 'p2'));
    await mirror.publishListing(lease, 'p2' as never, cautious);
    expect(await names(fixture)).toEqual([]);
    expect(await fixture.rows('SELECT id, status FROM investments ORDER BY id')).toEqual([
      { id: 'inv_1', status: 'executed' },
      { id: 'inv_2', status: 'approved' },
    ]);
  });

  test('an unreadable record with a forgotten person is quarantined without its body', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1', { investor_id: 'usr_1' }), record('inv_2')]]);
    await forgetting(fixture).forget('usr_1' as UserId);
    await fixture.delta([
      rejected('inv_1', 'CANARY'),
      rejected(null, '{"i":"usr_1","n":"CANARY"}'),
      rejected('inv_2', 'kept'),
    ]);
    expect(await fixture.rows('SELECT body FROM quarantine_rows ORDER BY quarantine_no')).toEqual([
      { body: '' },
      { body: '' },
      { body: 'kept' },
    ]);
  });

  test('after a lift, the identity is stored again', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1')]]);
    await forgetting(fixture).forget('inv_1' as InvestmentId);
    await forgetting(fixture).lift('inv_1' as InvestmentId);
    await fixture.delta([record('inv_1')]);
    expect(await names(fixture)).toEqual(['inv_1:inv_1']);
  });
});

describe('a lost grant', () => {
  test('a lost grant erases all identities of the source in the commit that detects it, with one receipt', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1'), record('inv_2')]]);
    await fixture.delta([rejected('inv_9', 'CANARY')]);
    const applied = await fixture.delta([record('inv_2', {}, null)]);
    expect(await names(fixture)).toEqual([]);
    expect(await fixture.rows('SELECT body FROM quarantine_rows')).toEqual([{ body: null }]);
    expect(await receipts(fixture)).toEqual([receipt(null, 'grant_lost')]);
    expect(await fixture.rows('SELECT * FROM identity_residue')).toEqual([]);
    // A lost grant is not a change of the investment.
    expect(applied).toMatchObject({ changed: 0, unchanged: 1 });
  });

  test('a single record without identity on a page proves a lost grant', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1'), record('inv_2'), record('inv_3')]]);
    await fixture.delta([record('inv_1'), record('inv_2', {}, null)]);
    expect(await names(fixture)).toEqual(['inv_1:inv_1']);
  });

  test('a grant lost during a re-listing erases both published and staged identities', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1'), record('inv_2')]]);
    await fixture.collect([[record('inv_1', {}, identity('staged'))]], 'relist');
    await fixture.mirror.addListingPage(fixture.lease, listingPage([record('inv_2', {}, null)], 'p2'));
    expect(await names(fixture)).toEqual([]);
    expect(await fixture.rows('SELECT identity FROM staged_rows WHERE identity IS NOT NULL')).toEqual([]);
  });

  test('a lost grant does not touch other sources', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1')]]);
    const other = await mirrorFixture({
      store: fixture.store,
      source: { name: 'other' as never, fingerprint: 'f1' },
    });
    await other.list([[record('inv_2')]]);
    await other.delta([record('inv_2', {}, null)]);
    expect(await names(fixture)).toEqual(['inv_1:inv_1']);
  });

  test.each<[string, FeedItem[]]>([
    ['a page of tombstones only', [tombstone('inv_2')]],
    ['a deactivated person without identity', [record('inv_2', { investor_deactivated: true }, null)]],
    ['an unreadable record', [rejected('inv_2')]],
    ['a page without entries', []],
  ])('a lost grant is not concluded from %s', async (_, items) => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1'), record('inv_2')]]);
    await fixture.delta(items);
    expect(await names(fixture)).toContain('inv_1:inv_1');
    expect(await receipts(fixture)).not.toContainEqual(receipt(null, 'grant_lost'));
  });

  test('a lost grant is not concluded from forgotten people, whose identity rosterd removes itself', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1'), record('inv_2')]]);
    await forgetting(fixture).forget('inv_2' as InvestmentId);
    await fixture.delta([record('inv_2', { status: 'executed' })]);
    expect(await names(fixture)).toEqual(['inv_1:inv_1']);
  });

  test('a lost grant that the platform confirms erases all identities of the source, once', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1'), record('inv_2')]]);
    expect(await fixture.mirror.loseIdentity(fixture.lease)).toBe(true);
    expect(await fixture.mirror.loseIdentity(fixture.lease)).toBe(false);
    expect(await names(fixture)).toEqual([]);
    expect(await receipts(fixture)).toEqual([receipt(null, 'grant_lost')]);
    expect(await fixture.rows('SELECT identity_included FROM sources')).toEqual([{ identity_included: 0 }]);
    const stale = { ...fixture.lease, fence: fixture.lease.fence - 1 };
    await expect(fixture.mirror.loseIdentity(stale)).rejects.toMatchObject({ code: 'lease_lost' });
    expect((await fixture.mirror.open(acme, 'tester')).identityIncluded).toBe(false);
  });

  test('a source that never had the grant gets no receipt for a lost one', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1', {}, null)]]);
    await fixture.delta([record('inv_1', { status: 'executed' }, null)]);
    expect(await receipts(fixture)).toEqual([]);
  });
});

describe('dropped identity', () => {
  test('dropping identity erases what was stored with a receipt and leaves the grant unknown', async () => {
    const before = await mirrorFixture();
    await before.list([[record('inv_1'), record('inv_2')]]);
    const includes = async () => (await before.mirror.open(acme, 'tester')).identityIncluded;
    expect(await includes()).toBe(true);
    expect(await forgetting(before).dropAll()).toBe(1);
    expect(await includes()).toBe(null);
    expect(await names(before)).toEqual([]);
    expect(await receipts(before)).toEqual([receipt(null, 'dropped')]);
    const { delta } = await mirrorFixture({ store: before.store, identity: 'drop' });
    await delta([record('inv_1', { status: 'executed' }, null)]);
    expect(await receipts(before)).toHaveLength(1);
    expect(await before.rows('SELECT identity_included FROM sources')).toEqual([{ identity_included: null }]);
    expect(await forgetting(before).dropAll()).toBe(0);
  });

  test('follow rules that drop identity erase it in the sources that they follow now, once', async () => {
    const dropped = await mirrorFixture();
    await dropped.list([[record('inv_1')]]);
    for (const name of ['kept', 'disconnected']) {
      const source = { ...acme, name: name as SourceName };
      await (await mirrorFixture({ store: dropped.store, source })).list([[record(`inv_${name}`)]]);
    }
    for (const [source, rule, state] of [
      ['acme', 'nameless', 'connected'],
      ['kept', 'keeping', 'connected'],
      ['disconnected', 'nameless', 'disconnected'],
    ])
      await dropped.rows(
        `INSERT INTO followed_sources (source, rule, realm, target_type, target, installation, state, mints, first_seen_at)
         VALUES (?, ?, 'test', 'company', ?, ?, ?, 1, '2026-01-01T00:00:00.000Z')`,
        ...[source, rule, `co_${source}`, `inst_${source}`, state],
      );
    expect(await forgetting(dropped).dropFollowed(['nameless', 'unknown'])).toBe(1);
    expect(await names(dropped)).toEqual(['inv_disconnected:inv_disconnected', 'inv_kept:inv_kept']);
    expect(await receipts(dropped)).toEqual([receipt(null, 'dropped')]);
    expect(await dropped.rows('SELECT name, identity_included FROM sources ORDER BY name')).toEqual([
      { name: 'acme', identity_included: 0 },
      { name: 'disconnected', identity_included: 1 },
      { name: 'kept', identity_included: 1 },
    ]);
    // Nothing is left to erase, so nothing waits for a lock that another process keeps.
    const unlock = await writeLock(dropped);
    expect(await forgetting(dropped).dropFollowed(['nameless'])).toBe(0);
    await unlock();
  });
});

describe('an erased person leaves every table at once', () => {
  test('a tombstone in a delta erases identity, quarantined bodies and webhook bodies', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1'), record('inv_2')]]);
    await fixture.delta([
      rejected('inv_1', 'CANARY'),
      rejected(null, '{"id":"inv_1","n":"CANARY"}'),
      rejected(null, 'inv_12'),
    ]);
    await fixture.rows(
      "INSERT INTO webhook_inbox (event_id, installation, event, received_at, body) VALUES ('e', 'i', 'x', 'now', '\"inv_1\"')",
    );
    await fixture.delta([tombstone('inv_1')]);
    expect(await names(fixture)).toEqual(['inv_2:inv_2']);
    expect(await fixture.rows('SELECT body FROM quarantine_rows ORDER BY body IS NULL, body')).toEqual([
      { body: 'inv_12' },
      { body: null },
      { body: null },
    ]);
    expect(await fixture.rows('SELECT body FROM webhook_inbox')).toEqual([{ body: null }]);
    expect(await receipts(fixture)).toEqual([receipt('inv_1', 'tombstone')]);
  });

  test('someone of whom nothing is stored leaves no receipt, except for a quarantined body that names them', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1', {}, null)]]);
    await fixture.delta([tombstone('inv_1'), rejected('inv_7', '{"investor":"usr_9","before":"inv_1"}')]);
    // An entry with an id belongs to that record, whatever other record it names.
    expect(await receipts(fixture)).toEqual([]);
    await fixture.delta([record('inv_2', { investor_id: 'usr_9', investor_deactivated: true }, null)]);
    expect(await fixture.rows('SELECT body FROM quarantine_rows')).toEqual([{ body: null }]);
    expect(await receipts(fixture)).toEqual([receipt('inv_7', 'deactivated')]);
  });

  test('a deactivated investor is erased in every source and every record', async () => {
    const fixture = await mirrorFixture();
    const theirs = { investor_id: 'usr_1' };
    await fixture.list([[record('inv_1', theirs), record('inv_2', theirs), record('inv_3')]]);
    const other = await mirrorFixture({
      store: fixture.store,
      source: { name: 'other' as never, fingerprint: 'f1' },
    });
    await other.list([[record('inv_1', theirs)]]);
    await other.collect([[record('inv_1', { ...theirs, status: 'executed' })]], 'relist');
    await fixture.delta([
      record('inv_1', { ...theirs, investor_deactivated: true }, identity('[deleted user]')),
    ]);
    expect(await names(fixture)).toEqual(['inv_1:[deleted user]', 'inv_3:inv_3']);
    expect(await fixture.rows('SELECT identity FROM staged_rows')).toEqual([{ identity: null }]);
    expect(await receipts(fixture)).toEqual([receipt('usr_1', 'deactivated')]);
    await fixture.delta([
      record('inv_1', { ...theirs, investor_deactivated: true }, identity('[deleted user]')),
    ]);
    expect(await receipts(fixture)).toHaveLength(1);
  });

  test('a re-listing page erases identities at once; the rows stay until the listing is complete', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1', { investor_id: 'usr_1' }), record('inv_2'), record('inv_3')]]);
    await fixture.collect(
      [[record('inv_1', { investor_id: 'usr_1', investor_deactivated: true }, null), tombstone('inv_2')]],
      'relist',
    );
    expect(await names(fixture)).toEqual(['inv_3:inv_3']);
    expect(await fixture.rows('SELECT id FROM investments ORDER BY id')).toHaveLength(3);
    expect(await receipts(fixture)).toEqual([receipt('usr_1', 'deactivated'), receipt('inv_2', 'tombstone')]);
  });

  test('a record missing from a complete listing is erased with the cause absent', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1'), record('inv_2')]]);
    await fixture.list([[record('inv_1')]], 'relist');
    expect(await receipts(fixture)).toEqual([receipt('inv_2', 'absent')]);
  });
});

test('reading a page again requests no scrub; replacing a staged identity does', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1')]]);
  const page = [record('inv_1', {}, identity('staged')), rejected('inv_2', 'body')];
  await fixture.collect([page], 'relist');
  await fixture.mirror.addListingPage(fixture.lease, listingPage(page, 'p2'));
  expect(await fixture.rows('SELECT * FROM identity_residue')).toEqual([]);
  await fixture.mirror.addListingPage(
    fixture.lease,
    listingPage([record('inv_1', {}, identity('later'))], 'p3'),
  );
  expect(await fixture.rows('SELECT * FROM identity_residue')).toHaveLength(1);
});
