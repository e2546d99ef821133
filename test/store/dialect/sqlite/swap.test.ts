import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  contentFields,
  type FeedItem,
  type Identity,
  type Investment,
  identityFields,
} from '../../../../src/domain/investment.js';
import type { CommittedChange } from '../../../../src/store/committed-change.js';
import { planListed } from '../../../../src/store/plan-page.js';
import { mirrorFixture } from '../../mirror-fixture.js';
import { identity, investment, record } from '../../samples.js';

const accepted = { share: 1, rows: 0, accepted: true };
const flags = new Set<string>([
  'needs_whitelisting',
  'visible',
  'investor_deactivated',
  'via_entity',
  'email_hidden',
]);
const cents = /_cents$/;
const required = new Set<string>(['status', 'blockers', 'contracts']);

function anyValueOf(field: string): fc.Arbitrary<unknown> {
  if (flags.has(field)) return fc.boolean();
  if (cents.test(field)) return fc.constantFrom(null, 0, -1, 2 ** 53 - 1, 1);
  if (field === 'blockers' || field === 'contracts') return fc.constantFrom('[]', '[{"a":"\\"1\\""}]');
  if (field === 'extra') return fc.constantFrom(null, '{}', '{"a":"\\u0000"}');
  const texts = ['', '1', '1.0', 'null', 'x"y', '\u{1f600}', 'é', 'a\u0000b', 'true', ' '];
  return fc.constantFrom(...(required.has(field) ? texts : [null, ...texts]));
}

const arbitraryOf = <Shape>(fields: readonly string[]) =>
  fc.record(Object.fromEntries(fields.map((field) => [field, anyValueOf(field)]))) as unknown as fc.Arbitrary<
    Partial<Shape>
  >;
const content = arbitraryOf<Investment>(contentFields);
const person = fc.option(arbitraryOf<Identity>(identityFields), { freq: 3 });
type Version = readonly [Partial<Investment>, Partial<Identity> | null];
const version: fc.Arbitrary<Version> = fc.tuple(content, person);
const one = (id: string, [more, who]: Version): FeedItem =>
  record(id, more, who === null ? null : identity('Ann', who));

test('what a swap calls a difference is what the comparison of two records calls one, field by field', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(version, version), { minLength: 1, maxLength: 20 }),
      async (versions) => {
        const { list, rows, database } = await mirrorFixture();
        await list([versions.map(([before], n) => one(`inv_${n}`, before))]);
        await list([versions.map(([, after], n) => one(`inv_${n}`, after))], 'relist', accepted);
        const expected = versions.flatMap(([[more, who], after], n) => {
          const held = {
            investment: investment(`inv_${n}`, more),
            identity: who === null ? null : identity('Ann', who),
          };
          const item = one(`inv_${n}`, after);
          const step = item.kind === 'record' ? planListed(held, item) : null;
          return step?.kind === 'replace' ? [{ id: `inv_${n}`, fields: JSON.stringify(step.fields) }] : [];
        });
        expect(rows('SELECT id, fields FROM changes WHERE seq > 1 ORDER BY seq')).toEqual(expected);
        const stored = rows('SELECT * FROM roster ORDER BY CAST(substr(id, 5) AS INTEGER)') as Record<
          string,
          unknown
        >[];
        for (const [n, [, [more, who]]] of versions.entries()) {
          for (const field of contentFields) expect(stored[n]?.[field]).toEqual(asStored(more[field]));
          for (const field of identityFields) {
            const name = field === 'extra' ? 'identity_extra' : field;
            expect(stored[n]?.[name]).toEqual(who === null ? null : asStored(who[field]));
          }
        }
        database.close();
      },
    ),
    { numRuns: 60 },
  );
}, 60_000);

function asStored(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value;
}

test('notices of a re-listing see each change once, with what stood there before and after', async () => {
  const told: CommittedChange[] = [];
  const { list, rows } = await mirrorFixture({
    queueNotices: (changes) => {
      told.push(...changes);
      return changes.map(({ seq, kind }) => ({ seq, target: 't', body: kind }));
    },
  });
  const crowd = Array.from({ length: 1_200 }, (_, n) => record(`inv_${n}`));
  await list([[record('inv_gone', { group_label: 'G' }), ...crowd]]);
  await list(
    [
      [
        ...crowd.map((_, n) => record(`inv_${n}`, { committed_cents: 7 as never })),
        record('inv_new', { status: 'new' }),
      ],
    ],
    'relist',
    accepted,
  );
  expect(told).toHaveLength(1_202);
  expect(told[0]).toMatchObject({
    ...{ kind: 'removed', id: 'inv_gone', source: 'acme', seq: 2, fields: [], reason: null },
    ...{ statusBefore: 'approved', statusAfter: null, groupBefore: 'G', groupAfter: null },
    ...{ committedCentsBefore: 100_00, committedCentsAfter: null },
  });
  expect(told[1]).toMatchObject({
    ...{ kind: 'changed', id: 'inv_0', seq: 3, fields: ['committed_cents'] },
    ...{ statusBefore: 'approved', statusAfter: 'approved' },
    ...{ committedCentsBefore: 100_00, committedCentsAfter: 7 },
  });
  expect(told.at(-1)).toMatchObject({
    ...{ kind: 'added', id: 'inv_new', seq: 1_203, statusBefore: null, statusAfter: 'new' },
  });
  expect(
    rows(
      'SELECT n.body, c.kind FROM notices n JOIN changes c USING (seq) WHERE n.body <> c.kind OR n.queued_at <> c.at',
    ),
  ).toEqual([]);
  expect(rows('SELECT count(*) AS n FROM notices')).toEqual([{ n: 1_202 }]);
});

test('a column that differs in one row only is written in that row and keeps its value in the others', async () => {
  const { list, rows } = await mirrorFixture();
  await list([[record('inv_1', { shares: '1' }), record('inv_2', { shares: '2', group_label: 'A' })]]);
  await list(
    [[record('inv_1', { shares: '9' }), record('inv_2', { shares: '2', group_label: 'B' })]],
    'relist',
  );
  expect(rows('SELECT id, shares, group_label FROM investments ORDER BY id')).toEqual([
    { id: 'inv_1', shares: '9', group_label: 'Seed' },
    { id: 'inv_2', shares: '2', group_label: 'B' },
  ]);
  expect(rows('SELECT id, shares, group_label, ended_by FROM investment_history ORDER BY id')).toEqual([
    { id: 'inv_1', shares: '1', group_label: 'Seed', ended_by: 'update' },
    { id: 'inv_2', shares: '2', group_label: 'A', ended_by: 'update' },
  ]);
});

test('a person forgotten between staging and publishing is neither written nor told as a difference', async () => {
  const { collect, mirror, lease, rows, database, list } = await mirrorFixture();
  await list([[record('inv_1'), record('inv_2')]]);
  const final = await collect([[record('inv_1', {}, identity('New')), record('inv_2')]], 'relist');
  database.raw.exec('DELETE FROM identity_rows; UPDATE staged_rows SET identity = NULL');
  await mirror.publishListing(lease, final, accepted);
  expect(rows('SELECT * FROM changes WHERE seq > 1')).toEqual([]);
  expect(rows('SELECT * FROM identities')).toEqual([]);
});
