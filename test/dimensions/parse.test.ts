import { expect, test } from 'vitest';
import { namedRounds, parseCompany, parseMyCompanies } from '../../src/dimensions/collections/companies.js';
import { parseUpdates } from '../../src/dimensions/collections/company-updates.js';
import { collections, touchedBy } from '../../src/dimensions/collections/index.js';
import { parseStats } from '../../src/dimensions/collections/round-stats.js';
import { parseRound } from '../../src/dimensions/collections/rounds.js';
import { publicRelations } from '../../src/store/dictionary/relations.js';
import { company, offering, stats, summary, updates } from './samples.js';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

const first = { cursor: undefined, number: 1 };

test('a company is parsed into every column, and what is unknown goes to extra', () => {
  const { row, rounds } = parseCompany(company({ name: 'Tidal Labs', new_field: { a: 1 } }));
  expect(Object.keys(row).sort()).toEqual([...collections.companies.columns].sort());
  expect(row).toMatchObject({
    id: 'co_1',
    name: 'Tidal Labs',
    slug: 'tidal-labs',
    status: 'raising',
    city: 'Portland',
    raised_cents: 12_345,
    reported_elsewhere_cents: 500,
    extra: '{"new_field":{"a":1}}',
  });
  expect(rounds.map(({ id }) => id)).toEqual(['ofr_1', 'ofr_2']);
  expect(JSON.parse(String(row.reported_rounds))).toEqual([
    { exemption: 'Other', raised_cents: 500, investor_count: 7, opened_at: null, closed_at: null },
  ]);
});

test.each([
  [{ url: null }, { slug: null }],
  [{ url: '' }, { slug: null }],
  [{ url: 'tidal-labs' }, { slug: 'tidal-labs' }],
  [{ url: 'https://invest.example/' }, { slug: null }],
  [{ raising: null }, { status: null }],
  [{ raising: false }, { status: 'not_raising' }],
])('a company with %j has %j', (set, expected) => {
  expect(parseCompany(company(set)).row).toMatchObject(expected);
});

test.each([7, '', null])('a company or round whose id is %j is an error', (id) => {
  expect(() => parseCompany(company({}, id as string))).toThrow(/company has no usable `id`/);
  expect(() => parseRound(offering(id as string))).toThrow(/offering has no usable `id`/);
});

test('unknown fields inside the known ones of a company go to extra, under their names', () => {
  const entry = { offering_id: 'ofr_2', status: 'closed' };
  const extraOf = (set: object) => JSON.parse(String(parseCompany(company({ ...set })).row.extra)) as unknown;
  expect(extraOf({ location: { city: 'Portland', region: 'New England' } })).toEqual({
    location: { region: 'New England' },
  });
  expect(extraOf({ service_rounds: [summary('ofr_1'), { ...entry, series: 'A' }] })).toEqual({
    service_rounds: [{ offering_id: 'ofr_2', series: 'A' }],
  });
  expect(extraOf({ totals: { profile_total_raised_cents: 5, donated_cents: 7 }, odd: 1 })).toEqual({
    totals: { donated_cents: 7 },
    odd: 1,
  });
  expect(parseCompany(company()).row.extra).toBeNull();
});

test('unknown fields inside the known ones of a round go to extra, under their names', () => {
  const set = { exemption: { family: 'reg_cf', subtype: null, label: 'Reg CF', filing: 'C-1' } };
  expect(parseRound(offering('ofr_1', set)).row.extra).toBe('{"exemption":{"filing":"C-1"}}');
  const security = { type: 'safe', label: 'SAFE', terms: { cap: '1' }, series: 'seed' };
  expect(parseRound(offering('ofr_1', { security })).row).toMatchObject({
    extra: '{"security":{"series":"seed"}}',
    terms: '{"cap":"1"}',
  });
});

test.each(Object.values(collections))(
  'the collection $name fills every column that the dictionary has of its view',
  ({ name, columns }) => {
    const own = new Set(['source', 'valid_from', 'change_seq', 'company_name', 'round_name']);
    const documented = publicRelations.find((relation) => relation.name === name)?.columns ?? [];
    const names = documented.map((column) => column.name).filter((column) => !own.has(column));
    expect([...columns].sort()).toEqual(names.sort());
  },
);

test('a round is parsed into every column', () => {
  const { row, security, companyName, etag } = parseRound(offering('ofr_1', { new_field: true }));
  expect(Object.keys(row).sort()).toEqual([...collections.rounds.columns].sort());
  expect(row).toMatchObject({
    id: 'ofr_1',
    company_id: 'co_1',
    kind: 'safe',
    exemption: 'Reg CF',
    status: 'open',
    testing_the_waters: 0,
    target_cents: 5_000_000,
    raised_cents_reported: 12_345,
    opened_at: '2025-03-14T10:00:00.000Z',
    extra: '{"new_field":true}',
  });
  expect([security, companyName, etag]).toEqual(['SAFE', 'Tidal Labs', 'abc']);
});

test.each(['a"b', 'a b', 'a\nb', 'ключ', ''])(
  'a round whose etag %j fits into no header has none',
  (etag) => {
    expect(parseRound(offering('ofr_1', {}, etag)).etag).toBeNull();
  },
);

test('a round that takes reservations has the intended security, and none has no terms', () => {
  expect(parseRound(offering('ofr_1', { security: null })).row).toMatchObject({ kind: null, terms: null });
  const reserving = { security: null, intended_security: { type: 'equity', label: 'Equity' } };
  const { row, security } = parseRound(offering('ofr_1', { ...reserving, testing_the_waters: true }));
  expect([row.kind, row.testing_the_waters, security]).toEqual(['equity', 1, 'Equity']);
});

test.each([
  [{ amount_raised_cents: null, amount_raised: '90071992547409.91' }, 9_007_199_254_740_991],
  [{ amount_raised_cents: null, amount_raised: '0.1' }, 10],
  [{ amount_raised_cents: null, amount_raised: null }, null],
])('an amount is exact in cents, also from decimal text: %j', (set, cents) => {
  expect(parseRound(offering('ofr_1', set)).row.raised_cents_reported).toBe(cents);
});

test.each([
  [{ amount_raised_cents: 1.5 }],
  [{ amount_raised_cents: 2 ** 53 }],
  [{ amount_raised_cents: null, amount_raised: '1.005' }],
  [{ amount_raised_cents: null, amount_raised: 12 }],
  [{ status: null }],
  [{ started_at: 'yesterday' }],
  [{ testing_the_waters: 'yes' }],
])('a round with an unusable field is an error, not a round without it: %j', (set) => {
  expect(() => parseRound(offering('ofr_1', set))).toThrow(/offering has no usable/);
});

test.each([
  ['terms', { security: { type: 'safe', terms: JSON.parse(nested(100_000)) } }],
  ['new_field', { new_field: { inner: JSON.parse(nested(40)) } }],
  ['exemption', { exemption: { inner: JSON.parse(nested(40)) } }],
])('JSON in %s that nests too deeply is an error that names the field', (field, attributes) => {
  expect(() => parseRound(offering('ofr_1', attributes))).toThrow(
    `a response with an offering has no usable \`${field}\``,
  );
});

const nul = 'co_1\u0000';

test.each([
  ['the round that is raising', { current_raise: { offering_id: nul } }, 'offering_id'],
  ['a leg of it', { current_raise: { offering_ids: ['ofr_1', nul] } }, 'offering_ids'],
  ['a listed round', { service_rounds: [summary(nul)] }, 'offering_id'],
  ['a round with a long id', { service_rounds: [summary(`ofr_${'1'.repeat(200)}`)] }, 'offering_id'],
])('a company is unreadable while no database can store the id of %s', (_, set, field) => {
  expect(() => parseCompany(company(set))).toThrow(`a response with a company has no usable \`${field}\``);
  expect(namedRounds(company(set)).every(({ id }) => /^ofr_\d$/.test(id))).toBe(true);
});

test('ids that no database can store make a round, stats or a post unreadable', () => {
  const round = { data: { ...offering('ofr_1').data, company: nul } };
  expect(() => parseRound(round)).toThrow(/offering has no usable `company`/);
  const longest = { ['x'.repeat(200)]: { count: 1, committed_cents: 1, raised_cents: 1 } };
  expect(parseStats(stats('ofr_1', { by_status: longest }), 'ofr_1', '')).toHaveLength(1);
  for (const status of [nul, '\ud800', 'x'.repeat(201)]) {
    const byStatus = { [status]: { count: 1, committed_cents: 1, raised_cents: 1 } };
    expect(() => parseStats(stats('ofr_1', { by_status: byStatus }), 'ofr_1', '')).toThrow(/by_status/);
  }
  const { rows, unreadable } = parseUpdates(updates(['u1', nul]), 'co_1', first);
  expect(rows.map(({ id }) => id)).toEqual(['u1']);
  expect(unreadable).toMatchObject([{ id: null, fault: { code: 'contract_broken' } }]);
  expect(() => parseMyCompanies({ data: [{ id: nul }] })).toThrow(/company has no usable `id`/);
});

test('the name of a person’s company is stored without characters that no database can store', () => {
  const named = parseMyCompanies({ data: [{ id: 'co_1', attributes: { name: 'A\u0000B' } }] });
  expect(named.get('co_1')).toBe('A\ufffdB');
});

test('stats become one row for each status', () => {
  expect(parseStats(stats('ofr_1'), 'ofr_1', '2026-11-01T00:00:00.000Z')).toEqual([
    {
      offering_id: 'ofr_1',
      status: 'active',
      company_id: 'co_1',
      currency: 'usd',
      investments: 2,
      committed_cents: 30,
      raised_cents: 20,
      published_through: '2026-10-31T00:00:00.000Z',
      asked_at: '2026-11-01T00:00:00.000Z',
      extra: null,
    },
  ]);
});

test.each([
  ['by_status', undefined],
  ['by_status', 'none'],
  ['by_status', [{ count: 1, committed_cents: 1, raised_cents: 1 }]],
  ['count', { active: { committed_cents: 1, raised_cents: 1 } }],
  ['committed_cents', { active: { count: 1, committed_cents: null, raised_cents: 1 } }],
])('stats without a usable %s are an error, not stats without investments: %j', (field, byStatus) => {
  const parse = () => parseStats(stats('ofr_1', { by_status: byStatus }), 'ofr_1', 'now');
  expect(parse).toThrow(`a response with a set of stats has no usable \`${field}\``);
});

test('unknown fields of stats go to the extra of each status, as in the response, and those of other statuses do not', () => {
  const counted = { count: 1, committed_cents: 30, raised_cents: 20 };
  const set = {
    by_status: {
      active: { ...counted, investors: 1 },
      executed: counted,
      odd: { ...counted, median_cents: 2 },
    },
    total: { count: 3, committed_cents: 90, raised_cents: 60, investors: 3 },
    as_of: '2026-11-01',
  };
  const extras = parseStats(stats('ofr_1', set), 'ofr_1', 'now').map(({ extra }) =>
    JSON.parse(String(extra)),
  );
  const ofRound = { total: { investors: 3 }, as_of: '2026-11-01' };
  expect(extras).toEqual([
    { ...ofRound, by_status: { investors: 1 } },
    ofRound,
    { ...ofRound, by_status: { median_cents: 2 } },
  ]);
});

test('stats whose unknown fields would be repeated for many statuses are an error, however long one row is', () => {
  const answer = (many: number) =>
    parseStats(stats('ofr_1', { by_status: statuses(many), note: 'x'.repeat(9_989) }), 'ofr_1', 'now');
  expect(answer(100)).toHaveLength(100);
  expect(() => answer(101)).toThrow(
    'has 1010000 characters of unknown fields, and at most 1000000 are accepted',
  );
});

test('a post is parsed without its body and the name of its author', () => {
  const { rows, next } = parseUpdates(updates(['u1']), 'co_1', first);
  expect(Object.keys(rows[0] ?? {}).sort()).toEqual([...collections.company_updates.columns].sort());
  expect(JSON.stringify(rows)).not.toMatch(/Ida|secret body/);
  expect(next).toBeNull();
});

test('a page of posts that promises more without a cursor, or without end, is an error: the listing would look complete', () => {
  const page = { ...updates(['u1']), meta: { has_more: true, next_cursor: null } };
  expect(() => parseUpdates(page, 'co_1', first)).toThrow(/next_cursor/);
  const more = { ...page, meta: { has_more: true, next_cursor: 'c2' } };
  expect(parseUpdates(more, 'co_1', { cursor: 'c1', number: 99 }).next).toBe('c2');
  expect(() => parseUpdates(more, 'co_1', { cursor: 'c1', number: 100 })).toThrow(/has_more/);
});

test.each([
  ['offering.closed', ['companies', 'rounds', 'round_stats']],
  ['installation.revoked', ['companies', 'rounds', 'round_stats', 'company_updates']],
  ['investment.changed', []],
  ['syndicate_member.joined', []],
])('the event %s concerns the collections %j', (event, names) => {
  expect(touchedBy(event)).toEqual(names);
});

const many = <Item>(count: number, item: (at: number) => Item): readonly Item[] =>
  Array.from({ length: count }, (_, at) => item(at));
const statuses = (count: number) =>
  Object.fromEntries(
    many(count, (at) => [`status_${at}`, { count: 0, committed_cents: 0, raised_cents: 0 }] as const),
  );
const unknownFields = (count: number) => Object.fromEntries(many(count, (at) => [`field_${at}`, at]));
const people = (count: number) => ({ data: many(count, (at) => ({ id: `co_${at}`, attributes: {} })) });

test.each<[string, number, (count: number) => unknown]>([
  ['posts', 100, (count) => parseUpdates(updates(many(count, (at) => `u${at}`)), 'co_1', first)],
  ['statuses', 200, (count) => parseStats(stats('ofr_1', { by_status: statuses(count) }), 'ofr_1', 'now')],
  [
    'rounds',
    500,
    (count) =>
      parseCompany(
        company({
          service_rounds: [],
          current_raise: { offering_ids: ['ofr_1'] },
          past_rounds: many(count - 1, (at) => summary(`ofr_${at}`)),
        }),
      ),
  ],
  ['companies', 2_000, (count) => parseMyCompanies(people(count))],
  ['unknown fields', 200, (count) => parseCompany(company(unknownFields(count)))],
  [
    'values in `new_field`',
    2_000,
    (count) => parseRound(offering('ofr_1', { new_field: many(count - 1, (at) => at) })),
  ],
])(
  'a response with too many %s is an error, so that it cannot block the event loop: at most %i',
  (what, most, parse) => {
    parse(most);
    expect(() => parse(most + 1)).toThrow(`has ${most + 1} ${what}, and at most ${most} are accepted`);
  },
);

test('a company whose rounds are no list is an error, not a company without rounds', () => {
  expect(() => parseCompany(company({ past_rounds: {} }))).toThrow(/company has no usable `past_rounds`/);
});

test('the rounds of a company that names too many are not asked for', () => {
  const named = (count: number) =>
    namedRounds(company({ past_rounds: many(count, (at) => summary(`ofr_${at}`)) }));
  // The company itself names four more, of which two are others.
  expect(named(496)).toHaveLength(496);
  expect(named(497)).toEqual([]);
  const legs = { current_raise: { offering_ids: ['ofr_7'] }, service_rounds: [] };
  expect(namedRounds(company(legs)).map(({ id }) => id)).toEqual(['ofr_7']);
});
