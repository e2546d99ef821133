import { describe, expect } from 'vitest';
import type { UserId } from '../../src/domain/ids.js';
import type { Cursor } from '../../src/domain/position.js';
import type { BrakePolicy } from '../../src/sync/ports.js';
import { test } from './both-databases.js';
import { type Fixture, mirrorFixture } from './mirror-fixture.js';
import { identity, listingPage, record, rejected, rejectedErasing, tombstone } from './samples.js';

/** A brake for which two deletions of four rows are too many. */
const brake: BrakePolicy = { share: 0.25, rows: 2, accepted: false };

const named = (...ids: readonly string[]) => [ids.map((id) => record(id))];

/** A mirror of four rows after a listing that named only the first two. */
async function doubted(options: Parameters<typeof mirrorFixture>[0] = {}): Promise<Fixture> {
  const fixture = await mirrorFixture(options);
  await fixture.list(named('a', 'b', 'c', 'd'));
  await fixture.list(named('a', 'b'), 'relist', brake);
  return fixture;
}

const awaiting = async ({ rows }: Fixture) =>
  ((await rows('SELECT id FROM awaiting_deletion ORDER BY id')) as { id: string }[])
    .map(({ id }) => id)
    .join(' ');

/** Returns the ids in `investments` and the source's count of rows that await deletion. */
const shown = async ({ rows }: Fixture) => {
  const [source] = (await rows('SELECT rows_held, awaiting_deletion FROM sources')) as [
    { rows_held: number; awaiting_deletion: number },
  ];
  const ids = ((await rows('SELECT id FROM investments ORDER BY id')) as { id: string }[]).map(
    ({ id }) => id,
  );
  expect(source.rows_held).toBe(ids.length);
  return `${ids.join(' ')} / ${source.awaiting_deletion}`;
};

describe('a row that awaits deletion', () => {
  test('a row that awaits deletion stays in every view, with its identity and the time it went missing', async () => {
    const fixture = await doubted();
    expect(await shown(fixture)).toBe('a b c d / 2');
    expect(await fixture.rows('SELECT id, name FROM identities ORDER BY id')).toHaveLength(4);
    const [{ at }] = (await fixture.rows('SELECT last_listing_at AS at FROM sources')) as [{ at: string }];
    const row = { missing_since: at, generation: 2, status: 'approved', committed_cents: 100_00 };
    expect(
      await fixture.rows(
        'SELECT id, missing_since, generation, status, committed_cents FROM awaiting_deletion ORDER BY id',
      ),
    ).toEqual([
      { id: 'c', ...row },
      { id: 'd', ...row },
    ]);
    expect(await fixture.rows('SELECT awaiting_deletion, deletions_waiting, state FROM sync_status')).toEqual(
      [{ awaiting_deletion: 2, deletions_waiting: 2, state: 'sweeping' }],
    );
  });

  test('a delta that names a row awaiting deletion clears its mark, changed or not, readable or not', async () => {
    const fixture = await doubted();
    await fixture.delta([record('c')]);
    expect(await awaiting(fixture)).toBe('d');
    await fixture.delta([rejected('d')]);
    expect(await shown(fixture)).toBe('a b c d / 0');
    expect(await fixture.rows("SELECT id FROM changes WHERE kind <> 'snapshot'")).toEqual([]);
  });

  test('a tombstone in the feed deletes a row awaiting deletion together with its mark', async () => {
    const fixture = await doubted();
    await fixture.delta([tombstone('c')]);
    expect(await shown(fixture)).toBe('a b d / 1');
    expect(await fixture.rows('SELECT id, ended_by FROM investment_history')).toEqual([
      { id: 'c', ended_by: 'tombstone' },
    ]);
  });

  test('an unreadable tombstone erases the identity of a row awaiting deletion and keeps its mark', async () => {
    const fixture = await doubted();
    await fixture.delta([rejectedErasing('c', 'tombstone')]);
    expect(await shown(fixture)).toBe('a b c d / 2');
    expect(await fixture.rows("SELECT id FROM identities WHERE id = 'c'")).toEqual([]);
    await fixture.list([[record('a'), record('b'), rejectedErasing('c', 'tombstone')]], 'relist', brake);
    expect(await shown(fixture), 'after a listing that has it').toBe('a b c d / 2');
  });

  test('the first page of a listing that names a row clears its mark; a tombstone in a listing does not', async () => {
    const fixture = await doubted();
    const { mirror, lease } = fixture;
    await mirror.beginListing(lease, { kind: 'relist', fingerprint: 'f1', restarts: 0, notBefore: null });
    await mirror.addListingPage(lease, listingPage([record('c'), tombstone('d')], 'p1', true));
    expect(await awaiting(fixture)).toBe('d');
    // Accepting does not delete a row that the unfinished listing has already named.
    expect(await mirror.deleteAwaiting(lease)).toMatchObject({ removed: 1 });
    await mirror.addListingPage(lease, listingPage([record('a'), record('b'), record('d')], 'p2'));
    await mirror.publishListing(lease, 'p2' as Cursor, brake);
    expect(await shown(fixture)).toBe('a b c d / 0');
    expect(await fixture.rows("SELECT id, kind FROM changes WHERE kind <> 'snapshot' ORDER BY seq")).toEqual([
      { id: 'd', kind: 'removed' },
      { id: 'd', kind: 'added' },
    ]);
  });

  test('a readable entry before an unreadable tombstone on one page of the feed removes the mark and its count', async () => {
    const fixture = await doubted();
    await fixture.delta([tombstone('c'), rejectedErasing('c', 'tombstone')]);
    expect(await shown(fixture)).toBe('a b d / 1');
    await fixture.delta([record('d'), rejectedErasing('d', 'tombstone')]);
    expect(await shown(fixture)).toBe('a b d / 0');
  });

  test('a row awaiting deletion loses its identity when its investor is deactivated or forgotten', async () => {
    const fixture = await mirrorFixture();
    const of = (id: string, investor: string) => record(id, { investor_id: investor }, identity(id));
    await fixture.list([[of('a', 'usr_a'), of('b', 'usr_b'), of('c', 'usr_c'), of('d', 'usr_d')]]);
    await fixture.list([[of('a', 'usr_a'), of('b', 'usr_b')]], 'relist', brake);
    await fixture.erasures.forget('usr_c' as UserId);
    await fixture.delta([record('e', { investor_id: 'usr_d', investor_deactivated: true }, null)]);
    expect(await awaiting(fixture)).toBe('c d');
    expect(await fixture.rows('SELECT id FROM identities ORDER BY id')).toEqual([{ id: 'a' }, { id: 'b' }]);
  });

  test('one source does not touch the awaiting-deletion rows of another', async () => {
    const one = await doubted();
    const other = await mirrorFixture({
      store: one.store,
      source: { name: 'other' as never, fingerprint: 'g' },
    });
    await other.list(named('c', 'd'));
    await other.delta([record('c'), tombstone('d')]);
    expect(await awaiting(one)).toBe('c d');
  });
});

describe('accepting', () => {
  test('accepting deletes exactly the marked rows, with change feed, history, receipts and notices', async () => {
    const drafted: string[] = [];
    const fixture = await doubted({
      notices: {
        draft: (changes) => {
          drafted.push(...changes.map(({ id, kind, origin }) => `${id} ${kind} ${origin}`));
          return [];
        },
        fold: () => null,
      },
    });
    await fixture.delta([record('c', { status: 'x' })]);
    expect(await fixture.mirror.deleteAwaiting(fixture.lease)).toEqual({
      added: 0,
      changed: 0,
      removed: 1,
      unchanged: 0,
      quarantined: 0,
    });
    expect(await shown(fixture)).toBe('a b c / 0');
    expect(await fixture.rows("SELECT id, kind, fields, reason FROM changes WHERE kind = 'removed'")).toEqual(
      [{ id: 'd', kind: 'removed', fields: '[]', reason: null }],
    );
    expect(await fixture.rows("SELECT id FROM investment_history WHERE ended_by = 'relist'")).toEqual([
      { id: 'd' },
    ]);
    expect(await fixture.rows('SELECT id, cause FROM erasures')).toEqual([{ id: 'd', cause: 'absent' }]);
    expect(await fixture.rows("SELECT id FROM identities WHERE id = 'd'")).toEqual([]);
    expect(drafted).toEqual(['c changed feed', 'd removed listing']);
    expect(await fixture.mirror.deleteAwaiting(fixture.lease)).toMatchObject({ removed: 0 });
    expect(await fixture.rows('SELECT max(seq) - count(*) AS holes FROM changes')).toEqual([{ holes: 0 }]);
  });

  test('accepting another number of rows than is marked deletes nothing', async () => {
    const fixture = await doubted();
    expect(await fixture.mirror.deleteAwaiting(fixture.lease, 1)).toBe(null);
    expect(await shown(fixture)).toBe('a b c d / 2');
    expect(await fixture.mirror.deleteAwaiting(fixture.lease, 2)).toMatchObject({ removed: 2 });
  });

  test('accepting with an old fence token deletes nothing', async () => {
    const fixture = await doubted();
    const stale = { ...fixture.lease, fence: 0 };
    await expect(fixture.mirror.deleteAwaiting(stale)).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await shown(fixture)).toBe('a b c d / 2');
  });
});

describe('a later complete listing', () => {
  test('a later complete listing that still does not name the marked rows keeps them and their missing_since', async () => {
    const fixture = await doubted();
    const since = await fixture.rows('SELECT DISTINCT missing_since FROM awaiting_deletion');
    await fixture.list(named('a', 'b', 'e'), 'relist', brake);
    expect(await shown(fixture)).toBe('a b c d e / 2');
    expect(await fixture.rows('SELECT DISTINCT missing_since FROM awaiting_deletion')).toEqual(since);
    expect(await fixture.rows('SELECT DISTINCT generation FROM awaiting_deletion')).toEqual([
      { generation: 3 },
    ]);
  });

  test('a later complete listing clears the rows it names and deletes the rest once they are within the brake', async () => {
    const fixture = await doubted();
    await fixture.list(named('a', 'b', 'c'), 'relist', brake);
    expect(await shown(fixture)).toBe('a b c / 0');
    expect(await fixture.rows("SELECT id FROM investment_history WHERE ended_by = 'relist'")).toEqual([
      { id: 'd' },
    ]);
  });

  test('the brake counts marked and newly missing rows together, so that no series of small deletions passes it', async () => {
    const fixture = await doubted();
    await fixture.list(named('a'), 'relist', brake);
    expect(await shown(fixture)).toBe('a b c d / 3');
    // One deleted row per listing would be within the brake.
    await fixture.list(named('b'), 'relist', brake);
    expect(await awaiting(fixture)).toBe('a c d');
  });

  test('a listing with a record whose id cannot be read deletes none of the rows it lacks, unless it was accepted', async () => {
    const fixture = await mirrorFixture();
    const unidentified = rejected(null, '{"id":7}');
    // An entry from the feed before this listing says nothing about it.
    await fixture.list([[...(named('a', 'b', 'c', 'd')[0] ?? []), unidentified]]);
    await fixture.list(named('a', 'b', 'c'), 'relist', brake);
    expect(await shown(fixture)).toBe('a b c / 0');
    await fixture.list([[record('a'), unidentified, record('c')]], 'relist', brake);
    expect(await shown(fixture)).toBe('a b c / 1');
    expect(await awaiting(fixture)).toBe('b');
    // With every row named, there is none to keep.
    await fixture.list([[record('a'), record('b'), record('c'), unidentified]], 'relist', brake);
    expect(await shown(fixture)).toBe('a b c / 0');
    await fixture.list([[record('a'), unidentified, record('c')]], 'relist', { ...brake, accepted: true });
    expect(await shown(fixture)).toBe('a c / 0');
  });

  test('an accepted listing deletes every row it does not name and leaves no mark', async () => {
    const fixture = await doubted();
    await fixture.list(named('c'), 'relist', { ...brake, accepted: true });
    expect(await shown(fixture)).toBe('c / 0');
    expect(await fixture.rows('SELECT * FROM awaiting_deletion_rows')).toEqual([]);
  });

  test('an abandoned listing clears only the marks of the rows it named', async () => {
    const fixture = await doubted();
    await fixture.collect(named('a', 'c'), 'relist');
    const { mirror, lease } = fixture;
    await mirror.beginListing(lease, { kind: 'relist', fingerprint: 'f1', restarts: 1, notBefore: null });
    expect(await shown(fixture)).toBe('a b c d / 1');
    await mirror.addListingPage(lease, listingPage([record('a'), record('b')], 'end'));
    await mirror.publishListing(lease, 'end' as Cursor, brake);
    expect(await awaiting(fixture)).toBe('c d');
  });
});
