import { expect } from 'vitest';
import { collections } from '../../src/dimensions/collections/index.js';
import { type CollectionName, collectionNames, type Listing, type Row } from '../../src/dimensions/ports.js';
import type { Instant } from '../../src/domain/instant.js';
import { PostgresDimensions } from '../../src/store/dialect/postgres/dimensions.js';
import { SqliteDimensions } from '../../src/store/dialect/sqlite/dimensions.js';
import { test } from './both-databases.js';
import { mirrorFixture } from './mirror-fixture.js';
import { acme, record } from './samples.js';

async function dimensionsFixture() {
  const fixture = await mirrorFixture();
  const { store, clock } = fixture;
  const dimensions =
    store.kind === 'sqlite'
      ? new SqliteDimensions(store.sqlite, clock)
      : new PostgresDimensions(store.postgres, clock);
  const begin = (wanted: readonly CollectionName[] = collectionNames) =>
    dimensions.begin(acme.name, wanted, [collections.companies, collections.rounds]);
  const apply = async (...listings: readonly Listing[]) => {
    const { attempt } = await begin(listings.map(({ collection }) => collection.name));
    return await dimensions.apply(acme.name, attempt, listings);
  };
  return { ...fixture, dimensions, begin, apply };
}

const full = (name: CollectionName, row: Row): Row => ({
  ...Object.fromEntries(collections[name].columns.map((column) => [column, null])),
  ...row,
});
const complete = (name: CollectionName, rows: readonly Row[], problem: string | null = null): Listing => ({
  kind: 'complete',
  collection: collections[name],
  rows: rows.map((row) => full(name, row)),
  problem,
});
const company = (name: string | null, id = 'co_1'): Row => ({ id, name, reported_rounds: '[]' });
const round = (id: string, set: Row = {}): Row => ({ id, company_id: 'co_1', name: `Round ${id}`, ...set });

test('collections: a first listing adds rows, and an equal one changes nothing', async () => {
  const { apply, rows } = await dimensionsFixture();
  const listings = [complete('companies', [company('Tidal')]), complete('rounds', [round('ofr_1')])];
  expect(await apply(...listings)).toEqual({ added: 2, changed: 0, removed: 0 });
  expect(await apply(...listings)).toEqual({ added: 0, changed: 0, removed: 0 });
  expect(await rows('SELECT seq, id, kind, fields FROM changes ORDER BY seq')).toEqual([
    { seq: 1, id: 'co_1', kind: 'company_added', fields: '[]' },
    { seq: 2, id: 'ofr_1', kind: 'round_added', fields: '[]' },
  ]);
  expect(await rows('SELECT company_name FROM rounds')).toEqual([{ company_name: 'Tidal' }]);
});

test('collections: a changed round keeps its superseded version, and the change names the columns', async () => {
  const { apply, rows, purgeHistory } = await dimensionsFixture();
  await apply(complete('rounds', [round('ofr_1', { status: 'open' })]));
  await apply(
    complete('rounds', [round('ofr_1', { status: 'closed', target_cents: 9_007_199_254_740_991 })]),
  );
  await apply(complete('rounds', []));
  expect(
    await rows('SELECT status, valid_from, valid_to, ended_by FROM round_history ORDER BY valid_from'),
  ).toMatchObject([
    { status: 'open', ended_by: 'update' },
    { status: 'closed', ended_by: 'removed' },
  ]);
  const [first, second] = (await rows(
    'SELECT valid_from, valid_to FROM round_history ORDER BY valid_from',
  )) as {
    valid_from: string;
    valid_to: string;
  }[];
  expect(second?.valid_from).toBe(first?.valid_to);
  expect(await rows('SELECT kind, fields FROM changes ORDER BY seq')).toEqual([
    { kind: 'round_added', fields: '[]' },
    { kind: 'round_changed', fields: '["status","target_cents"]' },
    { kind: 'round_removed', fields: '[]' },
  ]);
  expect(await rows('SELECT * FROM rounds')).toEqual([]);
  expect(await purgeHistory(String(second?.valid_to) as Instant)).toBe(1);
  expect(await rows('SELECT status FROM round_history')).toEqual([{ status: 'closed' }]);
  expect(await rows('SELECT history_from FROM sources')).toEqual([{ history_from: first?.valid_to }]);
  const values = 'before IS NOT NULL AS before, after IS NOT NULL AS after';
  expect(await rows(`SELECT kind, ${values} FROM changes ORDER BY seq`), 'what changes say').toEqual([
    { kind: 'round_added', before: 0, after: 0 },
    { kind: 'round_changed', before: 0, after: 0 },
    { kind: 'round_removed', before: 1, after: 0 },
  ]);
  expect(await purgeHistory('2027-01-01T00:00:00.000Z' as Instant)).toBe(1);
  expect(await rows('SELECT count(before) AS told FROM changes')).toEqual([{ told: 0 }]);
});

test('collections: what a post said before is forgotten with time, though posts have no versions to purge', async () => {
  const { apply, rows, purgeHistory } = await dimensionsFixture();
  for (const title of ['Before', 'After'])
    await apply(complete('company_updates', [{ id: 'post_1', company_id: 'co_1', title }]));
  const told = () => rows("SELECT count(before) AS told FROM changes WHERE kind = 'update_changed'");
  expect([await purgeHistory('2026-01-01T00:00:00.000Z' as Instant), await told()]).toEqual([
    0,
    [{ told: 1 }],
  ]);
  expect([await purgeHistory('2027-01-01T00:00:00.000Z' as Instant), await told()]).toEqual([
    0,
    [{ told: 0 }],
  ]);
});

test('collections: an incomplete listing deletes and changes nothing, and its problem is told', async () => {
  const { apply, rows } = await dimensionsFixture();
  await apply(complete('companies', []), complete('rounds', [round('ofr_1')]));
  const incomplete = {
    kind: 'incomplete',
    collection: collections.rounds,
    problem: 'GET answered 503',
  } as const;
  await apply(incomplete);
  await apply({ ...incomplete, problem: null });
  expect(await rows('SELECT id FROM rounds')).toEqual([{ id: 'ofr_1' }]);
  const [held] = (await rows(
    "SELECT problem, problem_since, listed_at FROM collections WHERE collection = 'rounds'",
  )) as [{ problem: string; problem_since: string; listed_at: string }];
  expect(held.problem).toBe('GET answered 503');
  expect(held.problem_since > held.listed_at).toBe(true);
  expect(await rows('SELECT collections_problem FROM sync_status')).toEqual([
    { collections_problem: 'rounds: GET answered 503' },
  ]);
  await apply(complete('rounds', [round('ofr_1')]));
  expect(await rows('SELECT problem, problem_since FROM collections')).toEqual([
    { problem: null, problem_since: null },
    { problem: null, problem_since: null },
  ]);
});

test('collections: neither a listing that began before another one can write, nor one of a source that is not stored', async () => {
  const { begin, dimensions, rows } = await dimensionsFixture();
  const older = await begin();
  const newer = await begin(['rounds']);
  await expect(
    dimensions.apply(acme.name, older.attempt, [complete('rounds', [round('ofr_old')])]),
  ).rejects.toMatchObject({ code: 'lease_lost' });
  await dimensions.apply(acme.name, newer.attempt, [complete('rounds', [round('ofr_new')])]);
  expect(await rows('SELECT id FROM rounds')).toEqual([{ id: 'ofr_new' }]);
  const nobody = 'nobody' as typeof acme.name;
  await expect(dimensions.begin(nobody, [], [])).rejects.toMatchObject({ code: 'lease_lost' });
  await expect(dimensions.apply(nobody, 1, [])).rejects.toMatchObject({ code: 'lease_lost' });
});

test('collections: their changes share the numbers of the feed without gaps', async () => {
  const { apply, list, delta, rows, dimensions } = await dimensionsFixture();
  await apply(complete('companies', [company('Tidal')]));
  await list([[record('inv_1')]]);
  await apply(complete('rounds', [round('ofr_1')]), complete('companies', [company('Tidal Labs')]));
  await delta([record('inv_1', { status: 'executed' })]);
  expect(await rows('SELECT seq, kind FROM changes ORDER BY seq')).toEqual([
    { seq: 1, kind: 'company_added' },
    { seq: 2, kind: 'snapshot' },
    { seq: 3, kind: 'round_added' },
    { seq: 4, kind: 'company_changed' },
    { seq: 5, kind: 'changed' },
  ]);
  expect(await rows('SELECT id, company_name, round_name FROM investments')).toEqual([
    { id: 'inv_1', company_name: 'Tidal Labs', round_name: 'Round ofr_1' },
  ]);
  expect((await dimensions.state(acme.name)).names).toEqual({
    companies: new Map([['co_1', 'Tidal Labs']]),
    rounds: new Map([['ofr_1', 'Round ofr_1']]),
  });
});

test('collections: what the investments name is known once they are published', async () => {
  const { apply, begin, collect, list, dimensions } = await dimensionsFixture();
  const pages = [[record('inv_1'), record('inv_2', { offering_id: 'ofr_2', currency: 'eur' })]];
  await collect(pages);
  expect((await begin()).investedRounds).toEqual([]);
  expect(await dimensions.unlistedRounds(acme.name)).toEqual([]);
  await list(pages);
  expect((await begin()).investedRounds).toEqual([
    { id: 'ofr_1', companyId: 'co_1', currency: 'USD' },
    { id: 'ofr_2', companyId: 'co_1', currency: 'eur' },
  ]);
  await apply(complete('rounds', [round('ofr_1')]));
  expect(await dimensions.unlistedRounds(acme.name)).toEqual(['ofr_2']);
  expect(await dimensions.labelsOf(acme.name, 'ofr_2')).toMatchObject({
    investmentType: 'crypto',
    offeringType: 'regd',
  });
});

test('collections: labels of a round are those of its investments in the published listing of one source', async () => {
  const { store, list, collect, dimensions } = await dimensionsFixture();
  const inRound = (id: string, offering_type: string) => record(id, { offering_id: 'ofr_1', offering_type });
  const labels = async () => (await dimensions.labelsOf(acme.name, 'ofr_1')).offeringType;
  await collect([[inRound('inv_1', 'regd')]], 'first');
  expect(await labels(), 'before the listing is published').toBeNull();
  await list([[inRound('inv_1', 'regd'), record('inv_2', { offering_id: 'ofr_2', offering_type: 'aaa' })]]);
  const other = await mirrorFixture({ store, source: { name: 'other' as never, fingerprint: 'f1' } });
  await other.list([[inRound('inv_3', 'aab')]]);
  expect(await labels()).toBe('regd');
});

test('collections: a listing that changes rows dates the commit of its source, and one that changes none does not', async () => {
  const { apply, rows } = await dimensionsFixture();
  const committed = async () => {
    const [source] = (await rows('SELECT last_committed_at AS at FROM sources')) as { at: string | null }[];
    return source?.at ?? null;
  };
  await apply(complete('round_stats', []), complete('rounds', []));
  expect(await committed()).toBeNull();
  await apply(complete('rounds', [round('ofr_1')]));
  const first = await committed();
  expect(first).not.toBeNull();
  await apply(complete('rounds', [round('ofr_1')]));
  expect(await committed()).toBe(first);
  await apply(complete('rounds', []));
  expect((await committed()) ?? '').toSatisfy((at: string) => at > (first ?? ''));
});

test('collections: stats are replaced without versions and changes', async () => {
  const { apply, rows } = await dimensionsFixture();
  const counted = (asked_at: string, investments: number): Row => ({
    offering_id: 'ofr_1',
    status: 'active',
    investments,
    committed_cents: 1,
    raised_cents: 1,
    asked_at,
  });
  const none = { added: 0, changed: 0, removed: 0 };
  expect(await apply(complete('round_stats', [counted('2026-01-01T00:00:00.000Z', 1)]))).toEqual(none);
  await apply(
    complete('round_stats', [counted('2026-01-02T00:00:00.000Z', 2)]),
    complete('rounds', [round('ofr_1')]),
  );
  expect(await rows('SELECT investments, asked_at FROM round_stats')).toEqual([
    { investments: 2, asked_at: '2026-01-02T00:00:00.000Z' },
  ]);
  expect(await rows('SELECT seq, kind FROM changes')).toEqual([{ seq: 1, kind: 'round_added' }]);
});

test('collections: a source tells when all of them were listed', async () => {
  const { apply, rows, dimensions } = await dimensionsFixture();
  const listedAt = async () =>
    (await rows('SELECT collections_listed_at AS at FROM sync_status')) as [{ at: string | null }];
  expect(await listedAt()).toEqual([{ at: null }]);
  const incomplete = { kind: 'incomplete', collection: collections.rounds, problem: null } as const;
  await apply(complete('companies', []), incomplete);
  expect(await listedAt()).toEqual([{ at: null }]);
  expect([...(await dimensions.state(acme.name)).listedAt.keys()]).toEqual(['companies']);
  await apply(complete('rounds', []));
  expect(await rows('SELECT min(listed_at) AS at FROM collections')).toEqual(await listedAt());
});

test('collections: a change says what was before and after it', async () => {
  const { apply, rows } = await dimensionsFixture();
  await apply(complete('rounds', [round('ofr_1', { status: 'open' })]));
  await apply(complete('rounds', [round('ofr_1', { status: 'closed' })]));
  expect(await rows("SELECT before, after FROM changes WHERE kind = 'round_changed'")).toEqual([
    { before: '{"status":"open"}', after: '{"status":"closed"}' },
  ]);
  await apply(complete('rounds', []));
  const whole = (await rows(
    "SELECT before, after FROM changes WHERE kind <> 'round_changed' ORDER BY seq",
  )) as {
    before: string | null;
    after: string | null;
  }[];
  const [added, removed] = whole.map(({ before, after }) =>
    [before, after].map((text) => JSON.parse(text ?? '{}')),
  );
  expect(added).toMatchObject([{}, { name: 'Round ofr_1', status: 'open' }]);
  expect(removed).toMatchObject([{ name: 'Round ofr_1', status: 'closed' }, {}]);
});

test('collections: the newest accepted event of a round is found by the beginning of its name', async () => {
  const { dimensions, rows } = await dimensionsFixture();
  const touched = () => dimensions.touchedAt(['offering.', 'installation.']);
  const accept = (id: string, event: string, at: string) =>
    rows(
      `INSERT INTO webhook_inbox (event_id, installation, event, received_at, state)
       VALUES (?, 'inst_1', ?, ?, 'ignored') RETURNING event_id`,
      ...[id, event, at],
    );
  expect(await touched()).toBeNull();
  await accept('evt_1', 'offering.opened', '2026-05-01T00:00:00.000Z');
  await accept('evt_2', 'installation.created', '2026-05-01T00:00:01.000Z');
  await accept('evt_3', 'investment.changed', '2026-05-01T00:00:02.000Z');
  expect(await touched()).toBe('2026-05-01T00:00:01.000Z');
});
