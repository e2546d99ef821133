import { expect } from 'vitest';
import type { InvestmentId, UserId } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import type { Investment } from '../../src/domain/investment.js';
import type { Cents } from '../../src/domain/money.js';
import { changesSince } from '../../src/store/reads/changes.js';
import { test } from './both-databases.js';
import { type Fixture, mirrorFixture, readingOf } from './mirror-fixture.js';
import { identity, investment, record, tombstone } from './samples.js';

const accepted = { share: 1, rows: 0, accepted: true };

/** Returns the changes after the first listing, as the library reads them. */
async function changesOf({ store }: Fixture, after = 1) {
  const changes = await changesSince(readingOf(store), { after });
  return changes.map(({ kind, fields, before, after: now }) => ({ kind, fields, before, after: now }));
}

/** Returns all columns of an investment as `before` and `after` have them. */
function columnsOf(one: Investment) {
  const { id: _, observed_at: __, reason: ___, ...content } = one;
  const flags = ['needs_whitelisting', 'visible', 'investor_deactivated', 'via_entity'] as const;
  return {
    ...content,
    ...Object.fromEntries(flags.map((name) => [name, Number(one[name])])),
    blockers: JSON.parse(one.blockers) as unknown,
    contracts: JSON.parse(one.contracts) as unknown,
    extra: one.extra === null ? null : (JSON.parse(one.extra) as unknown),
  };
}

test('changes: a changed investment has the values of its changed columns before and after, and no others', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1')]]);
  await fixture.delta([
    record('inv_1', {
      status: 'canceled "now"\n\u0001\u{1f600}',
      group_label: null,
      committed_cents: null,
      raised_cents: Number.MAX_SAFE_INTEGER as Cents,
      visible: false,
      shares: '12.50',
      blockers: '[{"key":"kyc"}]',
      extra: '{"tier":2}',
    }),
  ]);
  expect(await changesOf(fixture)).toEqual([
    {
      kind: 'changed',
      fields: [
        ...['status', 'group_label', 'committed_cents', 'raised_cents', 'shares', 'visible'],
        ...['blockers', 'extra'],
      ],
      before: {
        status: 'approved',
        group_label: 'Seed',
        committed_cents: 10_000,
        raised_cents: 10_000,
        shares: '10',
        visible: 1,
        blockers: [],
        extra: null,
      },
      after: {
        status: 'canceled "now"\n\u0001\u{1f600}',
        group_label: null,
        committed_cents: null,
        raised_cents: Number.MAX_SAFE_INTEGER,
        shares: '12.50',
        visible: 0,
        blockers: [{ key: 'kyc' }],
        extra: { tier: 2 },
      },
    },
  ]);
});

test('changes: an added investment has all columns after, a removed one all columns before, a snapshot neither', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[]]);
  await fixture.delta([record('inv_1', { status: 'active' })]);
  await fixture.delta([tombstone('inv_1')]);
  const whole = columnsOf(investment('inv_1', { status: 'active' }));
  expect(await changesOf(fixture, 0)).toEqual([
    { kind: 'snapshot', fields: [], before: null, after: null },
    { kind: 'added', fields: [], before: null, after: whole },
    { kind: 'removed', fields: [], before: whole, after: null },
  ]);
});

test('changes: a change of identity names its columns and shows none of their values', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1', {}, identity('CANARY-old'))]]);
  await fixture.delta([record('inv_1', {}, identity('CANARY-new', { bio: 'CANARY-bio' }))]);
  await fixture.delta([record('inv_1', { status: 'active' }, identity('CANARY-last'))]);
  await fixture.delta([record('inv_2', {}, identity('CANARY-second'))]);
  await fixture.delta([tombstone('inv_2')]);
  const changes = await changesOf(fixture);
  expect(changes[0]).toEqual({
    kind: 'changed',
    fields: ['identity.name', 'identity.email', 'identity.bio'],
    before: {},
    after: {},
  });
  expect(changes[1]).toMatchObject({ before: { status: 'approved' }, after: { status: 'active' } });
  expect(JSON.stringify(changes)).not.toContain('CANARY');
  expect(JSON.stringify(await fixture.rows('SELECT * FROM changes'))).not.toContain('CANARY');
});

test('changes: a re-listing has the values of what it changed, added and removed', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1'), record('inv_2'), record('inv_3')]]);
  await fixture.list(
    [[record('inv_1', { status: 'canceled' }), record('inv_2'), record('inv_4')]],
    'relist',
    accepted,
  );
  expect(await changesOf(fixture)).toEqual([
    { kind: 'removed', fields: [], before: columnsOf(investment('inv_3')), after: null },
    { kind: 'changed', fields: ['status'], before: { status: 'approved' }, after: { status: 'canceled' } },
    { kind: 'added', fields: [], before: null, after: columnsOf(investment('inv_4')) },
  ]);
});

test('changes: commits within one millisecond and repeated publications keep the values of each change apart', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1', { status: 's0' })]]);
  fixture.clock.stepMs = 0;
  const published = (status: string, second: number) =>
    fixture.delta([
      record('inv_1', {
        status,
        observed_at: `2026-04-01T00:00:0${second}.000Z` as Instant,
        reason: 'changed',
      }),
    ]);
  await published('s1', 1);
  await published('s1', 2);
  await published('s1', 3);
  await published('s2', 4);
  await fixture.delta([tombstone('inv_1')]);
  await published('s3', 5);
  fixture.clock.stepMs = 1_000;
  await published('s3', 6);
  await published('s4', 7);
  const statuses = (await changesOf(fixture)).map(({ before, after }) => [
    before?.status ?? null,
    after?.status ?? null,
  ]);
  expect(statuses).toEqual([
    ['s0', 's1'],
    ['s1', 's2'],
    ['s2', null],
    [null, 's3'],
    ['s3', 's4'],
  ]);
});

test('changes: values leave with the versions that history.keepDays purges', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1', { status: 's0' }), record('inv_2', { status: 't0' })]]);
  for (const status of ['s1', 's2', 's3']) await fixture.delta([record('inv_1', { status })]);
  const [, second] = (await fixture.rows('SELECT valid_to FROM investment_history ORDER BY valid_to')) as {
    valid_to: Instant;
  }[];
  if (second === undefined) throw new Error('no second version');
  const justAfter = new Date(Date.parse(second.valid_to) + 1).toISOString() as Instant;
  expect(await fixture.purgeHistory(justAfter)).toBe(2);
  expect(await changesOf(fixture)).toEqual([
    { kind: 'changed', fields: ['status'], before: null, after: null },
    { kind: 'changed', fields: ['status'], before: null, after: { status: 's2' } },
    { kind: 'changed', fields: ['status'], before: { status: 's2' }, after: { status: 's3' } },
  ]);
});

test.each<[string, (fixture: Fixture) => unknown]>([
  ['forgetting the investor', ({ erasures }) => erasures.forget('usr_inv_1' as UserId)],
  ['forgetting the investment', ({ erasures }) => erasures.forget('inv_1' as InvestmentId)],
  ['a tombstone', (fixture) => fixture.delta([tombstone('inv_1')])],
  ['absence from a listing', (fixture) => fixture.list([[]], 'relist', accepted)],
])(
  'changes: %s erases unknown fields from before and after, which may speak of a person',
  async (_, erase) => {
    const fixture = await mirrorFixture();
    const unknown = (version: number) =>
      record('inv_1', { status: `s${version}`, extra: JSON.stringify({ nickname: `CANARY-${version}` }) });
    await fixture.list([[unknown(1)]]);
    await fixture.delta([unknown(2)]);
    expect(JSON.stringify(await changesOf(fixture))).toContain('CANARY-1');
    await erase(fixture);
    const changes = await changesOf(fixture);
    expect(JSON.stringify(changes)).not.toContain('CANARY');
    expect(changes[0]).toMatchObject({
      before: { status: 's1', extra: null },
      after: { status: 's2', extra: null },
    });
  },
);
