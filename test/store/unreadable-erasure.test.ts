import { describe, expect } from 'vitest';
import { test } from './both-databases.js';
import { type Fixture, mirrorFixture } from './mirror-fixture.js';
import { identity, listingPage, record, rejected, rejectedErasing } from './samples.js';

const names = async ({ rows }: Fixture) =>
  ((await rows('SELECT id, name FROM identities ORDER BY source, id')) as { id: string; name: string }[]).map(
    ({ id, name }) => `${id}:${name}`,
  );
const receipts = ({ rows }: Fixture) => rows('SELECT id, cause FROM erasures ORDER BY erasure');
const theirs = { investor_id: 'usr_1' };

describe('an unreadable entry that erases its person', () => {
  test('an unreadable deactivation erases the investor everywhere with one receipt, however often it is read; the rows stay', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([
      [record('inv_1', { ...theirs, extra: '{"a":1}' }), record('inv_2', theirs), record('inv_3')],
    ]);
    const other = await mirrorFixture({
      store: fixture.store,
      source: { name: 'other' as never, fingerprint: 'f1' },
    });
    await other.list([[record('inv_1', theirs)]]);
    for (let times = 0; times < 2; times += 1) {
      const entry = rejectedErasing('inv_1', 'deactivated', '{"investor":{"name":"CANARY"}}');
      expect(await fixture.delta([entry])).toMatchObject({ changed: 0, quarantined: times === 0 ? 1 : 0 });
      expect(await names(fixture)).toEqual(['inv_3:inv_3']);
      expect(await receipts(fixture)).toEqual([{ id: 'usr_1', cause: 'deactivated' }]);
    }
    expect(await fixture.rows('SELECT id, extra FROM investments ORDER BY id')).toHaveLength(4);
    expect(await fixture.rows('SELECT extra FROM investments WHERE extra IS NOT NULL')).toEqual([]);
    expect(await fixture.rows('SELECT body FROM quarantine_rows')).toEqual([{ body: '' }]);
  });

  test('an unreadable deactivation without a known investor, or an unreadable tombstone, erases the identity of its record', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1', { investor_id: null }), record('inv_2'), record('inv_3')]]);
    await fixture.delta([rejectedErasing('inv_1'), rejectedErasing('inv_2', 'tombstone')]);
    expect(await names(fixture)).toEqual(['inv_3:inv_3']);
    expect(await receipts(fixture)).toEqual([
      { id: 'inv_1', cause: 'deactivated' },
      { id: 'inv_2', cause: 'tombstone' },
    ]);
  });

  test('an unreadable erasing entry overrides earlier entries of its page, and later ones override it', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1'), record('inv_2'), record('inv_3')]]);
    await fixture.delta([
      record('inv_1', { status: 'executed' }, identity('earlier')),
      rejectedErasing('inv_1'),
      rejectedErasing('inv_2'),
      record('inv_2', {}, identity('later')),
    ]);
    expect(await names(fixture)).toEqual(['inv_2:later', 'inv_3:inv_3']);
  });

  test('an unreadable erasing entry also erases in a first listing and from staged rows of a re-listing', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1'), record('inv_2')], [rejectedErasing('inv_1')]]);
    expect(await names(fixture)).toEqual(['inv_2:inv_2']);
    await fixture.collect([[record('inv_2', { extra: '{"a":1}' }, identity('staged'))]], 'relist');
    await fixture.mirror.addListingPage(fixture.lease, listingPage([rejectedErasing('inv_2')], 'p2'));
    expect(await fixture.rows('SELECT identity, extra FROM staged_rows')).toEqual([
      { identity: null, extra: null },
    ]);
    expect(await names(fixture)).toEqual([]);
  });

  test('an unreadable entry that erases nobody keeps the stored identity', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1')]]);
    await fixture.delta([rejected('inv_1')]);
    expect(await names(fixture)).toEqual(['inv_1:inv_1']);
    expect(await receipts(fixture)).toEqual([]);
  });
});
