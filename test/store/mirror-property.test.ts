import { expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import type { FeedItem } from '../../src/domain/investment.js';
import type { SourceIdentity } from '../../src/sync/ports.js';
import fc from '../support/property.js';
import { canonicalDump } from './canonical-dump.js';
import { freshStore, mirrorFixture, type Store } from './mirror-fixture.js';
import { type Expected, MirrorModel, type Version } from './mirror-model.js';
import { acme, identity, record, rejected, tombstone } from './samples.js';

const id = fc.constantFrom('inv_1', 'inv_2', 'inv_3', 'inv_4', 'inv_5');
// Always with identity: a record without one means a lost grant, which erases the whole source.
const who = fc.constantFrom(identity('Cy'), identity('Ann'), identity('Bob'));
const observed = fc.constantFrom(
  '2026-01-01T00:00:00.000Z' as Instant,
  '2026-01-02T00:00:00.000Z' as Instant,
);
const status = fc.constantFrom('a', 'b', '\ud83d\ude00\ufffd"');
const entry = (reason: fc.Arbitrary<string | null>): fc.Arbitrary<FeedItem> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(id, status, observed, reason, who)
        .map(([key, state, observed_at, why, person]) =>
          record(key, { status: state, observed_at, reason: why }, person),
        ),
    },
    { weight: 2, arbitrary: id.map((key) => tombstone(key)) },
    { weight: 1, arbitrary: id.map((key) => rejected(key)) },
  );
const listed = fc.array(fc.array(entry(fc.constant(null)), { maxLength: 6 }), { minLength: 1, maxLength: 3 });
const page = fc.array(entry(fc.constantFrom('r1', 'r2')), { maxLength: 8 });
const step = fc.oneof(
  { weight: 4, arbitrary: page.map((items) => ({ kind: 'delta' as const, items })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(listed, fc.boolean())
      .map(([pages, braked]) => ({ kind: 'relist' as const, pages, braked })),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'accept' as const }) },
);

const visible = `SELECT i.id, i.status, i.observed_at, i.reason, p.name
  FROM investments i LEFT JOIN identities p USING (source, id) WHERE source = ? ORDER BY i.id`;
const asOf = `SELECT id, status, observed_at, reason FROM investments WHERE source = ? AND valid_from <= ?
  UNION ALL SELECT id, status, observed_at, reason FROM investment_history
  WHERE source = ? AND valid_from <= ? AND ? < valid_to ORDER BY id`;
const accepted = { share: 0, rows: 0, accepted: true };
/** A brake for which two deletions are too many. */
const braked = { share: 0, rows: 2, accepted: false };

const worlds = fc.tuple(listed, fc.array(step, { maxLength: 8 }));

test('any sequence of pages and re-listings matches a reference model, now and as of every moment', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async ([first, steps]) => {
      const store = await freshStore('sqlite');
      await playAndCompare(store, acme, first, steps);
      if (store.kind === 'sqlite') store.sqlite.close();
    }),
    { numRuns: 25 },
  );
});

test('both databases, given the same input, have identical content and match the reference model', async () => {
  const stores = [await freshStore('sqlite'), await freshStore('postgres')] as const;
  let run = 0;
  await fc.assert(
    fc.asyncProperty(worlds, async ([first, steps]) => {
      run += 1;
      // Each run has its own source. Earlier ones stay in the database: they must not matter and are compared too.
      const source = { ...acme, name: `world${run}` as SourceName };
      for (const store of stores) await playAndCompare(store, source, first, steps);
      expect(await canonicalDump(stores[1])).toEqual(await canonicalDump(stores[0]));
    }),
    { numRuns: 8 },
  );
});

type Pages = readonly (readonly FeedItem[])[];
type PlayedStep =
  | { readonly kind: 'delta'; readonly items: readonly FeedItem[] }
  | { readonly kind: 'relist'; readonly pages: Pages; readonly braked: boolean }
  | { readonly kind: 'accept' };

async function playAndCompare(
  store: Store,
  source: SourceIdentity,
  first: Pages,
  steps: readonly PlayedStep[],
): Promise<void> {
  const { list, delta, rows, mirror, lease } = await mirrorFixture({ store, source });
  const { name } = source;
  const model = new MirrorModel();
  const moments: { at: string; rows: Omit<Version & { id: string }, 'name'>[] }[] = [];
  const check = async (changes: readonly Expected[], since: number) => {
    expect(await rows(visible, name)).toEqual(model.visible());
    expect(
      await rows('SELECT rows_held, quarantined, awaiting_deletion FROM sources WHERE name = ?', name),
    ).toEqual([
      {
        rows_held: model.rows.size,
        quarantined: model.quarantined.size,
        awaiting_deletion: model.awaiting.size,
      },
    ]);
    expect(await rows('SELECT id FROM awaiting_deletion WHERE source = ? ORDER BY id', name)).toEqual(
      [...model.awaiting].sort().map((id) => ({ id })),
    );
    expect(sorted((await rows('SELECT id, kind FROM changes WHERE seq > ?', since)) as Expected[])).toEqual(
      sorted(changes),
    );
    const [{ at }] = (await rows('SELECT last_committed_at AS at FROM sources WHERE name = ?', name)) as [
      { at: string },
    ];
    moments.push({ at, rows: model.visible().map(({ name: _, ...version }) => version) });
  };
  model.relist(first);
  await list(first);
  const [{ listed_seq }] = (await rows('SELECT listed_seq FROM sources WHERE name = ?', name)) as [
    { listed_seq: number },
  ];
  await check([], listed_seq);
  for (const next of steps) {
    const [{ seq }] = (await rows('SELECT max(seq) AS seq FROM changes')) as [{ seq: number }];
    switch (next.kind) {
      case 'delta':
        await delta(next.items);
        await check(model.applyPage(next.items), seq);
        break;
      case 'relist':
        await list(next.pages, 'relist', next.braked ? braked : accepted);
        await check(model.relist(next.pages, next.braked ? 1 : undefined), seq);
        break;
      case 'accept':
        await mirror.deleteAwaiting(lease);
        await check(model.accept(), seq);
        break;
    }
  }
  for (const { at, rows: then } of moments) expect(await rows(asOf, name, at, name, at, at)).toEqual(then);
  expect(await rows('SELECT max(seq) - count(*) AS holes FROM changes')).toEqual([{ holes: 0 }]);
}

function sorted(changes: readonly Expected[]): readonly Expected[] {
  return [...changes].sort((a, b) => (a.id < b.id ? -1 : 1));
}
