import { describe, expect } from 'vitest';
import type { FeedItem } from '../../src/domain/investment.js';
import type { Cursor } from '../../src/domain/position.js';
import { test } from './both-databases.js';
import { cautious, type Fixture, mirrorFixture } from './mirror-fixture.js';
import { acme, listingPage, record } from './samples.js';

const nameless = (...ids: readonly string[]): FeedItem[] => ids.map((id) => record(id, {}, null));
const named = (...ids: readonly string[]): FeedItem[] => ids.map((id) => record(id));

const incomplete = async ({ rows }: Fixture) => {
  const [row] = (await rows('SELECT names_incomplete FROM sync_status')) as [{ names_incomplete: number }];
  return row.names_incomplete === 1;
};

/** Returns what the sync engine sees when it opens the source. */
const wantsListing = async ({ mirror }: Fixture) => {
  const { phase } = await mirror.open(acme, 'tester');
  return phase.kind === 'following' && phase.namesIncomplete;
};

/** A mirror with two records listed with names, whose grant was then lost. */
async function lost(): Promise<Fixture> {
  const fixture = await mirrorFixture();
  await fixture.list([named('a', 'b')]);
  await fixture.delta(nameless('a'));
  expect(await incomplete(fixture), 'without a grant no names are missing').toBe(false);
  return fixture;
}

describe('names are incomplete', () => {
  test('names are incomplete from the first record after the grant returned until a listing has completed them', async () => {
    const fixture = await lost();
    await fixture.delta(named('a'));
    expect(await incomplete(fixture)).toBe(true);
    await fixture.delta(named('b'));
    expect(await incomplete(fixture), 'a delta cannot prove that all names are stored').toBe(true);
    expect(await wantsListing(fixture), 'the state survives a restart').toBe(true);
    const reopened = await mirrorFixture({ store: fixture.store });
    await reopened.list([named('a', 'b')], 'relist');
    await reopened.delta([]);
    expect(await incomplete(reopened)).toBe(false);
    expect(await reopened.rows('SELECT id, name FROM identities ORDER BY id')).toEqual([
      { id: 'a', name: 'a' },
      { id: 'b', name: 'b' },
    ]);
  });

  test('names are incomplete when the platform confirms a returned grant, but not a grant that was never lost', async () => {
    const fixture = await lost();
    expect(await fixture.mirror.regainIdentity(fixture.lease)).toBe(true);
    expect(await incomplete(fixture)).toBe(true);
    const whole = await mirrorFixture();
    await whole.list([named('a')]);
    expect(await whole.mirror.regainIdentity(whole.lease)).toBe(false);
  });

  test('names are incomplete after a first listing without the grant, once the grant exists', async () => {
    const fixture = await mirrorFixture();
    await fixture.list([nameless('a', 'b')]);
    await fixture.delta(named('a'));
    expect(await wantsListing(fixture)).toBe(true);
  });

  test('names are incomplete after a listing during which the grant returned', async () => {
    const fixture = await lost();
    await fixture.list([nameless('a'), named('b')], 'relist');
    await fixture.delta([]);
    expect(await incomplete(fixture)).toBe(true);
    await fixture.list([named('a', 'b')], 'relist');
    await fixture.delta([]);
    expect(await incomplete(fixture)).toBe(false);
  });

  test('names are incomplete again when the grant is lost and returns during the listing that completes them', async () => {
    const fixture = await lost();
    await fixture.delta(named('a'));
    await fixture.list([named('a'), nameless('b'), named('c')], 'relist');
    await fixture.delta([]);
    expect(await wantsListing(fixture)).toBe(true);
  });

  test('names are incomplete once a configuration that dropped identity keeps it', async () => {
    const dropping = await mirrorFixture({ identity: 'drop' });
    await dropping.list([nameless('a', 'b')]);
    await dropping.delta(nameless('a'));
    expect(await incomplete(dropping), 'a source that drops identity misses no names').toBe(false);
    const keeping = await mirrorFixture({ store: dropping.store });
    await keeping.delta(named('a'));
    expect(await wantsListing(keeping)).toBe(true);
  });
});

test('a listing whose first page shows the returned grant completes the names by itself', async () => {
  const fixture = await lost();
  const { mirror, lease } = fixture;
  await mirror.beginListing(lease, { kind: 'relist', fingerprint: 'f1', restarts: 0, notBefore: null });
  await mirror.addListingPage(lease, listingPage(named('a'), 'p1', true));
  expect(await incomplete(fixture)).toBe(true);
  await mirror.addListingPage(lease, listingPage(named('b'), 'p2'));
  await mirror.publishListing(lease, 'p2' as Cursor, cautious);
  await fixture.delta([]);
  expect(await incomplete(fixture)).toBe(false);
});

test('names are incomplete after a source dropped its identities and keeps them again', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([named('a', 'b')]);
  await fixture.erasures.dropAll();
  expect(await incomplete(fixture)).toBe(false);
  await fixture.delta(named('a'));
  expect(await wantsListing(fixture)).toBe(true);
});
