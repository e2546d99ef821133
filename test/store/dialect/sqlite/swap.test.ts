import { expect, test } from 'vitest';
import { differenceOf } from '../../../../src/domain/difference.js';
import type { InvestmentId, SourceName } from '../../../../src/domain/ids.js';
import {
  contentFields,
  type FeedItem,
  type Identity,
  type Investment,
  identityFields,
} from '../../../../src/domain/investment.js';
import type { Cents } from '../../../../src/domain/money.js';
import type { CommittedChange } from '../../../../src/store/committed-change.js';
import { prepareStatements } from '../../../../src/store/dialect/sqlite/statements.js';
import { storedRowFrom } from '../../../../src/store/dialect/sqlite/stored-row.js';
import fc from '../../../support/property.js';
import { migratedDatabase, mirrorFixture } from '../../mirror-fixture.js';
import { acme, identity, record } from '../../samples.js';

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
  if (field === 'blockers') return fc.constantFrom('[]', '[{"key":"\\"1\\""}]');
  if (field === 'contracts') return fc.constantFrom('[]', '[{"name":"\\"1\\""}]');
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

test('publishing a re-listing finds the same differences as comparing two records, field by field', async () => {
  const database = migratedDatabase();
  const statements = prepareStatements(database.raw);
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(version, version), { minLength: 1, maxLength: 20 }),
      async (versions) => {
        run += 1;
        const name = `source-${run}` as SourceName;
        const fixture = await mirrorFixture({ database, source: { ...acme, name } });
        const { list, collect, mirror, lease, rows } = fixture;
        await list([versions.map(([before], n) => one(`inv_${n}`, before))]);
        const final = await collect([versions.map(([, after], n) => one(`inv_${n}`, after))], 'relist');
        // A page may erase identity and unknown fields, so both sides are read just before publishing.
        const no = statements.source.get(name)?.no ?? 0;
        const waiting = await Promise.all(
          versions.map(async ([, after], n) => {
            const held = storedRowFrom(statements, statements.held.get(no, `inv_${n}`));
            const [staged] = (await rows(
              'SELECT identity, extra FROM staged_rows WHERE source_no = ? AND id = ?',
              ...[no, `inv_${n}`],
            )) as { identity: string | null; extra: string | null }[];
            if (held === undefined) throw new Error('nothing was removed');
            if (staged === undefined)
              return { who: held.identity, extra: held.investment.extra, difference: null };
            const who = staged.identity === null ? null : (JSON.parse(staged.identity) as Identity);
            const item = one(`inv_${n}`, after);
            const { extra } = staged;
            const told =
              item.kind === 'record'
                ? { ...item, identity: who, investment: { ...item.investment, extra } }
                : item;
            return { who, extra, difference: told.kind === 'record' ? differenceOf(held, told) : null };
          }),
        );
        const [{ last }] = (await rows('SELECT max(seq) AS last FROM changes')) as [{ last: number }];
        await mirror.publishListing(lease, final, accepted);
        expect(await rows('SELECT id, fields FROM changes WHERE seq > ? ORDER BY seq', last)).toEqual(
          waiting.flatMap(({ difference }, n) =>
            difference === null ? [] : [{ id: `inv_${n}`, fields: JSON.stringify(difference.fields) }],
          ),
        );
        const stored = (await rows(
          'SELECT * FROM roster WHERE source = ? ORDER BY CAST(substr(id, 5) AS INTEGER)',
          name,
        )) as Record<string, unknown>[];
        for (const [n, [, [more]]] of versions.entries()) {
          const who = waiting[n]?.who ?? null;
          for (const field of contentFields)
            expect(stored[n]?.[field]).toEqual(asStored(field === 'extra' ? waiting[n]?.extra : more[field]));
          for (const field of identityFields) {
            const column = field === 'extra' ? 'identity_extra' : field;
            expect(stored[n]?.[column]).toEqual(who === null ? null : asStored(who[field]));
          }
        }
      },
    ),
    { numRuns: 60 },
  );
});

function asStored(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value;
}

test('a re-listing drafts notices for each change once, with the values before and after', async () => {
  const told: CommittedChange[] = [];
  const { list, rows } = await mirrorFixture({
    notices: {
      draft: (changes) => {
        told.push(...changes);
        return changes.map(({ id, seq, kind }) => ({ id, seq, target: 't', body: kind }));
      },
      fold: (_, later) => later,
    },
  });
  const converted = { currency: 'EUR', offering_id: null, converted_from: 'inv_before' as InvestmentId };
  const later = { committed_cents: 7 as Cents, ...converted };
  const crowd = Array.from({ length: 1_200 }, (_, n) => record(`inv_${n}`));
  await list([[record('inv_gone', { group_label: 'G' }), ...crowd]]);
  await list(
    [[...crowd.map((_, n) => record(`inv_${n}`, later)), record('inv_new', { status: 'new' })]],
    'relist',
    accepted,
  );
  expect(told).toHaveLength(1_202);
  expect(told[0]).toMatchObject({
    kind: 'removed',
    id: 'inv_gone',
    source: 'acme',
    seq: 2,
    fields: [],
    reason: null,
    statusBefore: 'approved',
    statusAfter: null,
    groupBefore: 'G',
    groupAfter: null,
    committedCentsBefore: 100_00,
    committedCentsAfter: null,
    origin: 'listing',
    companyId: 'co_1',
    offeringId: 'ofr_1',
    currency: 'USD',
    convertedFrom: null,
  });
  expect(told[1]).toMatchObject({
    kind: 'changed',
    id: 'inv_0',
    seq: 3,
    fields: expect.arrayContaining(['committed_cents', 'offering_id', 'currency', 'converted_from']),
    statusBefore: 'approved',
    statusAfter: 'approved',
    committedCentsBefore: 100_00,
    committedCentsAfter: 7,
    origin: 'listing',
    // The current values, even where they are null.
    companyId: 'co_1',
    offeringId: null,
    currencyBefore: 'USD',
    currency: 'EUR',
    convertedFrom: 'inv_before',
  });
  expect(told.at(-1)).toMatchObject({
    kind: 'added',
    id: 'inv_new',
    seq: 1_203,
    statusBefore: null,
    statusAfter: 'new',
  });
  expect(
    await rows(
      'SELECT n.body, c.kind FROM notices n JOIN changes c USING (seq) WHERE n.body <> c.kind OR n.queued_at <> c.at',
    ),
  ).toEqual([]);
  expect(await rows('SELECT count(*) AS n FROM notices')).toEqual([{ n: 1_202 }]);
});

test('the commit that publishes a re-listing sorts in memory: it moves names, and temporary files stay on the disk', async () => {
  const database = migratedDatabase();
  const stores = new Set<unknown>();
  const draft = () => {
    stores.add(database.raw.pragma('temp_store', { simple: true }));
    return [];
  };
  const { list } = await mirrorFixture({ database, notices: { draft, fold: (_, later) => later } });
  await list([[record('inv_1')]]);
  await list([[record('inv_1', {}, identity('New'))]], 'relist');
  const memory = 2;
  expect([...stores]).toEqual([memory]);
});

test('a column that differs in only one row is written in that row and unchanged in the others', async () => {
  const { list, rows } = await mirrorFixture();
  await list([[record('inv_1', { shares: '1' }), record('inv_2', { shares: '2', group_label: 'A' })]]);
  await list(
    [[record('inv_1', { shares: '9' }), record('inv_2', { shares: '2', group_label: 'B' })]],
    'relist',
  );
  expect(await rows('SELECT id, shares, group_label FROM investments ORDER BY id')).toEqual([
    { id: 'inv_1', shares: '9', group_label: 'Seed' },
    { id: 'inv_2', shares: '2', group_label: 'B' },
  ]);
  expect(await rows('SELECT id, shares, group_label, ended_by FROM investment_history ORDER BY id')).toEqual([
    { id: 'inv_1', shares: '1', group_label: 'Seed', ended_by: 'update' },
    { id: 'inv_2', shares: '2', group_label: 'A', ended_by: 'update' },
  ]);
});

test('an identity forgotten between staging and publishing is neither written nor reported as a change', async () => {
  const { collect, mirror, lease, rows, database, list } = await mirrorFixture();
  await list([[record('inv_1'), record('inv_2')]]);
  const final = await collect([[record('inv_1', {}, identity('New')), record('inv_2')]], 'relist');
  database.raw.exec('DELETE FROM identity_rows; UPDATE staged_rows SET identity = NULL');
  await mirror.publishListing(lease, final, accepted);
  expect(await rows('SELECT * FROM changes WHERE seq > 1')).toEqual([]);
  expect(await rows('SELECT * FROM identities')).toEqual([]);
});
