import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import type { FeedItem } from '../../src/domain/investment.js';
import { mirrorFixture } from './mirror-fixture.js';
import { type Expected, MirrorModel, type Version } from './mirror-model.js';
import { identity, record, rejected, tombstone } from './samples.js';

const id = fc.constantFrom('inv_1', 'inv_2', 'inv_3', 'inv_4', 'inv_5');
// Always with somebody: a record without shows that the grant is lost, which empties the source.
const who = fc.constantFrom(identity('Cy'), identity('Ann'), identity('Bob'));
const observed = fc.constantFrom(
  '2026-01-01T00:00:00.000Z' as Instant,
  '2026-01-02T00:00:00.000Z' as Instant,
);
const status = fc.constantFrom('a', 'b', '\ud83d\ude00\u0000"');
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
  { weight: 1, arbitrary: listed.map((pages) => ({ kind: 'relist' as const, pages })) },
);

const visible = `SELECT i.id, i.status, i.observed_at, i.reason, p.name
  FROM investments i LEFT JOIN identities p USING (source, id) ORDER BY i.id`;
const asOf = `SELECT id, status, observed_at, reason FROM investments WHERE valid_from <= @at
  UNION ALL SELECT id, status, observed_at, reason FROM investment_history WHERE valid_from <= @at AND @at < valid_to
  ORDER BY id`;
const accepted = { share: 0, rows: 0, accepted: true };

test('any sequence of pages and re-listings leaves what a plain model says, and every moment of it', async () => {
  await fc.assert(
    fc.asyncProperty(listed, fc.array(step, { maxLength: 8 }), async (first, steps) => {
      const { list, delta, rows, database } = await mirrorFixture();
      const model = new MirrorModel();
      const moments: { at: string; rows: Omit<Version & { id: string }, 'name'>[] }[] = [];
      const check = (changes: readonly Expected[], since: number) => {
        expect(rows(visible)).toEqual(model.visible());
        expect(rows('SELECT rows_held, quarantined FROM sources')).toEqual([
          { rows_held: model.rows.size, quarantined: model.quarantined.size },
        ]);
        expect(sorted(rows('SELECT id, kind FROM changes WHERE seq > ?', since) as Expected[])).toEqual(
          sorted(changes),
        );
        const [{ at }] = rows('SELECT last_committed_at AS at FROM sources') as [{ at: string }];
        moments.push({ at, rows: model.visible().map(({ name: _, ...version }) => version) });
      };
      model.relist(first);
      await list(first);
      check([], 1);
      for (const next of steps) {
        const [{ seq }] = rows('SELECT max(seq) AS seq FROM changes') as [{ seq: number }];
        const changes = next.kind === 'delta' ? model.applyPage(next.items) : model.relist(next.pages);
        if (next.kind === 'delta') await delta(next.items);
        else await list(next.pages, 'relist', accepted);
        check(changes, seq);
      }
      for (const moment of moments)
        expect(database.raw.prepare(asOf).all({ at: moment.at })).toEqual(moment.rows);
      expect(rows('SELECT max(seq) - count(*) AS holes FROM changes')).toEqual([{ holes: 0 }]);
      database.close();
    }),
    { numRuns: 120 },
  );
});

function sorted(changes: readonly Expected[]): readonly Expected[] {
  return [...changes].sort((a, b) => (a.id < b.id ? -1 : 1));
}
