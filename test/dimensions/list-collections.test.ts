import { expect, test } from 'vitest';
import type { RoundRecord } from '../../src/dimensions/collections/rounds.js';
import { type Collection, collectionNames, type Found } from '../../src/dimensions/ports.js';
import { Fault } from '../../src/domain/fault.js';
import { hidden, listed, served, throwing } from './listed.js';
import { company, offering, stats, summary } from './samples.js';

test('a listing asks for each resource once and names every round', async () => {
  const { asked, rows, fault } = await listed();
  expect(asked).toEqual([
    '/companies/co_1',
    ...['/offerings/ofr_1', '/offerings/ofr_2', '/offerings/ofr_1/stats', '/offerings/ofr_2/stats'],
    '/companies/co_1/updates',
  ]);
  expect(fault).toBeNull();
  expect(rows('rounds').map(({ name, currency }) => [name, currency])).toEqual([
    ['Reg CF SAFE 2025', 'usd'],
    ['Reg CF SAFE 2024', null],
  ]);
  expect(rows('companies')).toMatchObject([{ name: 'Tidal Labs', currency: 'usd', city: 'Portland' }]);
});

test.each([
  ['two currencies has none', 'eur', null],
  ['one currency has it', 'usd', 'usd'],
])('a company whose rounds have %s', async (_, currency, expected) => {
  const investedRounds = [{ id: 'ofr_2', companyId: 'co_1', currency }];
  const { rows } = await listed({ known: { investedRounds } });
  expect(rows('companies')).toMatchObject([{ currency: expected }]);
});

test('a private round keeps what its investments say of it, with the reason', async () => {
  const investedRounds = [{ id: 'ofr_9', companyId: 'co_1', currency: 'eur' }];
  const { rows, of } = await listed({ known: { investedRounds } });
  expect(rows('rounds').find(({ id }) => id === 'ofr_9')).toMatchObject({
    name: 'Reg D SAFE 2024',
    exemption: 'Reg D',
    company_id: 'co_1',
    currency: 'eur',
    status: null,
    unavailable: '404 not_found',
  });
  // A private round is as the platform wants it: no problem of the collection.
  expect(of('rounds')).toMatchObject({ kind: 'complete', problem: null });
});

test('a hidden round that its company sums up keeps the summary', async () => {
  const { '/offerings/ofr_2': _, ...others } = served;
  const past = company({
    service_rounds: [summary('ofr_1'), summary('ofr_2', { status: 'closed', exemption: null })],
  });
  const { rows } = await listed({ answers: { ...others, '/companies/co_1': past } });
  expect(rows('rounds').find(({ id }) => id === 'ofr_2')).toMatchObject({
    status: 'closed',
    // It has no investments that could tell.
    exemption: null,
    raised_cents_reported: 12_345,
    unavailable: '404 not_found',
  });
});

test.each([null, '403 insufficient_scope'])(
  'a company without the scope for it has no name, and the reason is stored (before: %s)',
  async (unavailable) => {
    const forbidden = () => hidden('403 insufficient_scope');
    const { rows, of } = await listed({
      answers: Object.fromEntries(Object.keys(served).map((path) => [path, forbidden])),
      known: {
        investedRounds: [{ id: 'ofr_1', companyId: 'co_1', currency: 'usd' }],
        stored: new Map([['companies', [{ id: 'co_1', name: 'Tidal Labs', unavailable }]]]),
      },
    });
    expect(rows('companies')).toMatchObject([
      { id: 'co_1', name: null, unavailable: '403 insufficient_scope' },
    ]);
    for (const name of collectionNames)
      expect(of(name)).toMatchObject({ kind: 'complete', problem: expect.stringMatching(/^403/) });
  },
);

test('a company that is hidden is named by its round', async () => {
  const { '/companies/co_1': _, ...others } = served;
  const investedRounds = [{ id: 'ofr_1', companyId: 'co_1', currency: 'usd' }];
  const { rows } = await listed({ answers: others, known: { investedRounds } });
  expect(rows('companies')).toMatchObject([{ name: 'Tidal Labs', unavailable: '404 not_found' }]);
});

test('a hidden company is named by its round also while that round cannot be read', async () => {
  const { '/companies/co_1': _, ...others } = served;
  const cache = new Map<string, RoundRecord>();
  const known = { investedRounds: [{ id: 'ofr_1', companyId: 'co_1', currency: 'usd' }] };
  const first = await listed({ answers: others, known, cache });
  const stored = new Map([['rounds' as const, first.rows('rounds')]]);
  const broken = { ...others, '/offerings/ofr_1': offering('ofr_1', { status: null }, 'new') };
  const { rows } = await listed({ answers: broken, known: { ...known, stored }, cache });
  expect(rows('companies')).toMatchObject([{ name: 'Tidal Labs' }]);
});

test.each([
  ['404 not_found', 'Tidal Labs'],
  [null, null],
])(
  'while rounds cannot be listed, a company that was hidden before (%s) is called %s',
  async (unavailable, name) => {
    const { '/companies/co_1': _, ...others } = served;
    const { of } = await listed({
      answers: { ...others, '/offerings/ofr_1': throwing(new Fault('platform_error', '503')) },
      known: {
        investedRounds: [{ id: 'ofr_1', companyId: 'co_1', currency: 'usd' }],
        stored: new Map([['companies', [{ id: 'co_1', name: 'Tidal Labs', unavailable }]]]),
      },
    });
    expect(of('companies')).toMatchObject({ rows: [{ name, unavailable: '404 not_found' }] });
    expect(of('rounds')?.kind).toBe('incomplete');
  },
);

test('where stats are refused, the other rounds of the company are not asked for', async () => {
  const { asked, of } = await listed({
    answers: {
      ...served,
      '/offerings/ofr_1/stats': () => hidden(),
      '/offerings/ofr_2/stats': () => hidden(),
    },
  });
  expect(asked.filter((path) => path.endsWith('/stats'))).toEqual(['/offerings/ofr_1/stats']);
  expect(of('round_stats')).toMatchObject({ problem: '404 not_found for ofr_1' });
});

test('where stats are refused, other rounds without a known company are still asked for', async () => {
  const nowhere = (id: string) => ({ data: { ...offering(id).data, company: null } });
  const { of, rows } = await listed({
    answers: {
      ...served,
      '/companies/co_1': company({ current_raise: null, service_rounds: [] }),
      ...{ '/offerings/ofr_1': nowhere('ofr_1'), '/offerings/ofr_2': nowhere('ofr_2') },
      ...{ '/offerings/ofr_1/stats': () => hidden(), '/offerings/ofr_2/stats': stats('ofr_2') },
    },
    known: {
      investedRounds: ['ofr_1', 'ofr_2'].map((id) => ({ id, companyId: null, currency: null })),
    },
  });
  expect(rows('round_stats').map(({ offering_id }) => offering_id)).toEqual(['ofr_2']);
  expect(of('round_stats')).toMatchObject({ problem: '404 not_found for ofr_1' });
  expect(rows('companies').map(({ id }) => id)).toEqual(['co_1']);
});

test('the refused stats of a round that is gone do not cost those of the rounds that are served', async () => {
  const investedRounds = [{ id: 'ofr_0', companyId: 'co_1', currency: 'usd' }];
  const { of, rows } = await listed({ known: { investedRounds } });
  expect(rows('round_stats').map(({ offering_id }) => offering_id)).toContain('ofr_1');
  expect(of('round_stats')).toMatchObject({ kind: 'complete', problem: '404 not_found for ofr_0' });
});

test.each([
  ['/companies/co_1', ['incomplete', 'incomplete', 'incomplete', 'incomplete']],
  ['/offerings/ofr_2', ['complete', 'incomplete', 'incomplete', 'incomplete']],
  ['/offerings/ofr_2/stats', ['complete', 'complete', 'incomplete', 'incomplete']],
  ['/companies/co_1/updates', ['complete', 'complete', 'complete', 'incomplete']],
])('when %s fails, what was complete before it is kept: %j', async (path, kinds) => {
  const fault = new Fault('platform_error', 'GET answered 503');
  const result = await listed({ answers: { ...served, [path]: throwing(fault) } });
  expect(result.listings.map(({ kind }) => kind)).toEqual(kinds);
  expect(result.listings.at(-1)).toMatchObject({ problem: 'GET answered 503' });
  expect(result.fault).toBe(fault);
});

test('an error that is no fault ends a listing and is thrown', async () => {
  const fail = () => {
    throw new Error('a defect');
  };
  const unreadable = Object.defineProperty({}, 'data', { get: fail });
  for (const answer of [fail, unreadable])
    await expect(listed({ answers: { ...served, '/companies/co_1': answer } })).rejects.toThrow('a defect');
});

test('a company, a round or stats that cannot be read stay as they are stored, and the others are listed', async () => {
  const first = await listed();
  const stored = new Map(
    collectionNames.map(
      (name) => [name, first.rows(name).map((row) => ({ ...row, currency: 'eur' }))] as const,
    ),
  );
  // What a platform sends that adds up more than 2^53 cents, and a round that changed beside it.
  const huge = { amount_raised_cents: 2 ** 63 };
  const { listings, rows, fault, unreadable } = await listed({
    known: { stored },
    answers: {
      ...served,
      '/companies/co_1': company({ totals: { raised_on_service_all_time_cents: 2 ** 63 } }),
      '/offerings/ofr_1': offering('ofr_1', huge),
      '/offerings/ofr_2': offering('ofr_2', { status: 'closed', started_at: '2024-01-01T00:00:00Z' }),
      '/offerings/ofr_1/stats': stats('ofr_1', {
        by_status: { active: { count: 1, committed_cents: 2 ** 63, raised_cents: 0 } },
      }),
    },
  });
  expect(fault).toBeNull();
  expect(unreadable?.code).toBe('contract_broken');
  expect(listings.map(({ kind, problem }) => [kind, problem])).toEqual([
    ['complete', 'a response with a company has no usable `raised_on_service_all_time_cents` for co_1'],
    ['complete', 'a response with an offering has no usable `amount_raised_cents` for ofr_1'],
    ['complete', 'a response with a set of stats has no usable `committed_cents` for ofr_1'],
    ['complete', null],
  ]);
  const kept = (name: Collection['name']) => stored.get(name)?.[0];
  expect(rows('companies')).toEqual([kept('companies')]);
  expect(rows('rounds')[0]).toEqual(kept('rounds'));
  expect(rows('rounds')[1]).toMatchObject({ id: 'ofr_2', status: 'closed' });
  expect(rows('round_stats')).toEqual([kept('round_stats')]);
});

test('a company, a round or stats that are answered with another one stay as they are stored', async () => {
  const first = await listed();
  const stored = new Map(collectionNames.map((name) => [name, first.rows(name)] as const));
  const { data } = company();
  const answers = {
    ...served,
    '/companies/co_1': { data: { ...data, id: 'co_2' } },
    '/offerings/ofr_2': served['/offerings/ofr_1'],
    '/offerings/ofr_1/stats': stats('ofr_2'),
  };
  const { listings, rows } = await listed({ answers, known: { stored } });
  expect(listings.map(({ problem }) => problem)).toEqual([
    'a response with a company has no usable `id` for co_1',
    'a response with an offering has no usable `id` for ofr_2',
    'a response with a set of stats has no usable `offering` for ofr_1',
    null,
  ]);
  for (const name of collectionNames) expect(rows(name), name).toEqual(first.rows(name));
});

test('stats of another round that has no investments leave those that are stored', async () => {
  const first = await listed();
  const stored = new Map(collectionNames.map((name) => [name, first.rows(name)] as const));
  const answers = { ...served, '/offerings/ofr_1/stats': stats('ofr_2', { by_status: {} }) };
  const { rows } = await listed({ answers, known: { stored } });
  expect(first.rows('round_stats')).not.toEqual([]);
  expect(rows('round_stats')).toEqual(first.rows('round_stats'));
});

test('a round that cannot be read leaves its own name and that of its twin as they are', async () => {
  const answers = {
    ...served,
    '/offerings/ofr_2': offering('ofr_2', { started_at: '2025-05-01T00:00:00Z' }, 'def'),
  };
  const cache = new Map<string, RoundRecord>();
  const first = await listed({ answers, cache });
  const names = first.rows('rounds').map(({ name }) => name);
  expect(names).toEqual(['Reg CF SAFE 2025, opened 2025-03-14', 'Reg CF SAFE 2025, opened 2025-05-01']);
  const stored = new Map([['rounds' as const, first.rows('rounds')]]);
  const broken = { ...answers, '/offerings/ofr_1': offering('ofr_1', { status: null }, 'new') };
  const second = await listed({ answers: broken, cache, known: { stored } });
  expect(second.rows('rounds')).toEqual(first.rows('rounds'));
  expect(cache.get('ofr_1')?.etag).toBe('abc');
  const restarted = await listed({ answers: broken, known: { stored } });
  expect(restarted.rows('rounds')).toEqual(first.rows('rounds'));
});

test('after a restart, twins that opened on the same day keep their names while one cannot be read', async () => {
  const answers = { ...served, '/offerings/ofr_2': offering('ofr_2', {}, 'def') };
  const first = await listed({ answers });
  const names = first.rows('rounds').map(({ name }) => name);
  expect(names).toEqual([1, 2].map((at) => `Reg CF SAFE 2025, opened 2025-03-14 (…fr_${at})`));
  const stored = new Map([['rounds' as const, first.rows('rounds')]]);
  const broken = { ...answers, '/offerings/ofr_1': offering('ofr_1', { status: null }) };
  const restarted = await listed({ answers: broken, known: { stored } });
  expect(restarted.rows('rounds')).toEqual(first.rows('rounds'));
  const corrected = { ...broken, '/offerings/ofr_2': served['/offerings/ofr_2'] };
  const { rows } = await listed({ answers: corrected, known: { stored } });
  expect(rows('rounds').map(({ name }) => name)).toEqual(['Reg CF SAFE 2025', 'Reg CF SAFE 2024']);
});

test('a round or company that cannot be read and was never stored has no values, with the reason', async () => {
  const answers = {
    '/companies/co_1': company({ name: 7 }),
    '/offerings/ofr_1': offering('ofr_1', { status: null }),
  };
  const investedRounds = [{ id: 'ofr_1', companyId: 'co_1', currency: 'usd' }];
  const { rows, of } = await listed({ answers, known: { investedRounds } });
  const unavailable = 'a response with an offering has no usable `status`';
  expect(rows('rounds')[0]).toMatchObject({ id: 'ofr_1', status: null, currency: 'usd', unavailable });
  expect(of('rounds')).toMatchObject({ kind: 'complete', problem: `${unavailable} for ofr_1` });
  expect(rows('companies')).toMatchObject([
    { id: 'co_1', name: null, unavailable: 'a response with a company has no usable `name`' },
  ]);
});

test('a company that cannot be read names its new rounds, and its hidden ones stay as they are stored', async () => {
  const past = [summary('ofr_9', { current: false, status: 'closed' })];
  const named = { service_rounds: [summary('ofr_1'), ...past] };
  const first = await listed({ answers: { ...served, '/companies/co_1': company(named) } });
  const hiddenRow = first.rows('rounds').find(({ id }) => id === 'ofr_9');
  expect(hiddenRow).toMatchObject({ status: 'closed', unavailable: '404 not_found' });
  const stored = new Map([['rounds' as const, first.rows('rounds')]]);
  const more = { service_rounds: [...named.service_rounds, summary('ofr_3')], raising: 'yes' };
  const { rows } = await listed({
    known: { stored },
    answers: { ...served, '/companies/co_1': company(more), '/offerings/ofr_3': offering('ofr_3') },
  });
  expect(rows('rounds').map(({ id }) => id)).toEqual(['ofr_1', 'ofr_2', 'ofr_3', 'ofr_9']);
  expect(rows('rounds').at(-1)).toEqual(hiddenRow);
});

test.each([
  ['that waits for the quota is no problem', {}, null],
  ['that a 429 without a wait ended is a problem', { waitUnstated: true }, 'wait'],
])('a listing %s of the collection', async (_, about, problem) => {
  const fault = new Fault('rate_limited', 'wait', about);
  const { of } = await listed({ answers: { ...served, '/companies/co_1': throwing(fault) } });
  expect(of('companies')).toMatchObject({ kind: 'incomplete', problem });
});

test('a round that is still the same is not read again, and one that changed is', async () => {
  const cache = new Map<string, RoundRecord>();
  const first = await listed({ cache });
  const same = (etag: string | undefined): Found =>
    etag === 'abc' ? { kind: 'same' } : { kind: 'found', body: offering('ofr_1') };
  const second = await listed({ cache, answers: { ...served, '/offerings/ofr_1': same } });
  expect(second.asked).toContain('/offerings/ofr_1 if not abc');
  expect(second.rows('rounds')).toEqual(first.rows('rounds'));
  const closed = { ...served, '/offerings/ofr_1': offering('ofr_1', { status: 'closed' }, 'def') };
  const third = await listed({ cache, answers: closed });
  expect(third.rows('rounds')[0]).toMatchObject({ id: 'ofr_1', status: 'closed' });
  expect(cache.get('ofr_1')?.etag).toBe('def');
  await listed({ cache, answers: { ...served, '/offerings/ofr_1': () => hidden() } });
  expect(cache.has('ofr_1')).toBe(false);
});

test.each([
  ['no list', { data: {} }, 'data'],
  ['a list with a company without an id', { data: [{ attributes: { name: 'A' } }] }, 'id'],
])('companies of a person: %s removes none of those that are stored', async (_, mine, field) => {
  const person = { isPersonal: true };
  // The platform serves only one of them.
  const names = { co_1: 'Tidal Labs', co_2: 'Hidden Labs' };
  const data = Object.entries(names).map(([id, name]) => ({ id, attributes: { name } }));
  const first = await listed({ ...person, answers: { ...served, '/users/me/companies': { data } } });
  expect(first.rows('companies').map(({ name }) => name)).toEqual(Object.values(names));
  const stored = new Map(collectionNames.map((name) => [name, first.rows(name)] as const));
  const answers = { ...served, '/users/me/companies': mine };
  const second = await listed({ ...person, answers, known: { stored } });
  expect(second.of('companies')).toMatchObject({
    kind: 'complete',
    problem: `a response with a company has no usable \`${field}\` for the account and 1 more`,
  });
  for (const name of collectionNames) expect(second.rows(name), name).toEqual(first.rows(name));
  const none = await listed({
    ...person,
    answers: { '/users/me/companies': { data: [] } },
    known: { stored },
  });
  expect(none.rows('companies')).toEqual([]);
  const refused = await listed({ ...person, answers: {}, known: { stored } });
  expect(refused.of('companies')).toMatchObject({ rows: [], problem: null });
});

test('a source of one round lists no other', async () => {
  const { rows } = await listed({ offering: 'ofr_2' });
  expect(rows('rounds').map(({ id }) => id)).toEqual(['ofr_2']);
});

test('a stored round that nothing names any more is deleted only when the platform answers 404', async () => {
  const stored = new Map([['rounds' as const, [{ id: 'ofr_7', company_id: 'co_1' }]]]);
  const gone = await listed({ known: { stored } });
  expect(gone.rows('rounds').map(({ id }) => id)).toEqual(['ofr_1', 'ofr_2']);
  const canceled = { ...served, '/offerings/ofr_7': offering('ofr_7', { status: 'canceled' }) };
  const kept = await listed({ known: { stored }, answers: canceled });
  expect(kept.rows('rounds').map(({ id }) => id)).toEqual(['ofr_1', 'ofr_2', 'ofr_7']);
});

test('twice as many rounds take twice as many looks at what is known of them', async () => {
  const looks = async (count: number) => {
    let looked = 0;
    const counted = <Of extends object>(index: number, more: Of) => ({
      get id() {
        looked += 1;
        return `ofr_${index}`;
      },
      ...more,
    });
    const many = Array.from({ length: count }, (_, index) => index);
    const { rows } = await listed({
      answers: {},
      known: {
        investedRounds: many.map((index) => counted(index, { companyId: 'co_1', currency: null })),
        stored: new Map([['rounds', many.map((index) => counted(index, { currency: 'usd' }))]]),
      },
    });
    expect(rows('rounds').map(({ currency }) => currency)).toEqual(many.map(() => 'usd'));
    return looked;
  };
  expect(await looks(200)).toBeLessThanOrEqual(2 * (await looks(100)));
});
