import { expect, test } from 'vitest';
import type { Found } from '../../src/dimensions/ports.js';
import { listed, served } from './listed.js';
import { updates } from './samples.js';

test('a post that cannot be read stays as it is stored or is left out, and the others are listed', async () => {
  const stored = new Map([['company_updates' as const, (await listed()).rows('company_updates')]]);
  const [u1, u2] = stored.get('company_updates') ?? [];
  const renamed = updates(['u1', 'u2', 'u3', 'u4']).data.map((post) =>
    post.id === 'u3'
      ? post
      : { ...post, attributes: { ...post.attributes, title: post.id === 'u1' ? 'Renamed' : 7 } },
  );
  const answers = { ...served, '/companies/co_1/updates': { ...updates([]), data: renamed } };
  const { rows, of, fault, unreadable } = await listed({ answers, known: { stored } });
  expect(fault).toBeNull();
  expect(unreadable?.code).toBe('contract_broken');
  expect(of('company_updates')).toMatchObject({
    kind: 'complete',
    problem: 'a response with a company_update has no usable `title` for u2 and 1 more',
  });
  expect(new Map(rows('company_updates').map((row) => [row.id, row]))).toEqual(
    new Map([
      ['u1', { ...u1, title: 'Renamed' }],
      ['u2', u2],
      ['u3', { ...u1, id: 'u3', title: 'Post u3', url: 'https://invest.example/tidal-labs/updates/u3' }],
    ]),
  );
});

test.each([
  ['a number', 7],
  ['null', null],
  ['an object without an id', { attributes: { title: 'Post' } }],
  ['an object with an empty id', { id: '', attributes: {} }],
])('a post that is %s deletes no stored post of its company', async (_, post) => {
  const stored = new Map([['company_updates' as const, (await listed()).rows('company_updates')]]);
  const of2 = { ...stored.get('company_updates')?.[0], id: 'u9', company_id: 'co_2' };
  stored.set('company_updates', [...(stored.get('company_updates') ?? []), of2]);
  const page = { ...updates(['u1']), data: [post, ...updates(['u1']).data] };
  const answers = { ...served, '/companies/co_1/updates': page };
  const { rows, of } = await listed({ answers, known: { stored } });
  expect(of('company_updates')).toMatchObject({
    kind: 'complete',
    problem: 'a response with a company_update has no usable `id` for co_1',
  });
  // It may be u2. The other company names no post any more.
  expect(rows('company_updates').map(({ id }) => id)).toEqual(['u1', 'u2']);
});

test('an error that is no fault, while a post is read, ends the listing', async () => {
  const post = Object.defineProperty({}, 'id', {
    get: () => {
      throw new Error('a defect');
    },
  });
  const answers = { ...served, '/companies/co_1/updates': { ...updates([]), data: [post] } };
  await expect(listed({ answers })).rejects.toThrow('a defect');
});

test('a post that moves to another page while the pages are read is not deleted', async () => {
  const paged = (ids: readonly string[], next: string | null): Found => {
    const { data, meta } = updates(ids);
    return { kind: 'found', body: { data, meta: { ...meta, has_more: next !== null, next_cursor: next } } };
  };
  const stored = new Map([
    ['company_updates' as const, ['u1', 'u2', 'u9'].map((id) => ({ id, company_id: 'co_1' }))],
  ]);
  const ids = async (...pages: readonly Found[]) => {
    const left = [...pages];
    const answers = { ...served, '/companies/co_1/updates': () => left.shift() };
    const { rows } = await listed({ answers, known: { stored } });
    return [rows('company_updates').map(({ id }) => id), left.length];
  };
  // It is pinned after the first page was read.
  const moved = [paged(['u1'], 'c2'), paged(['u3'], null)];
  expect(await ids(...moved, paged(['u2', 'u1'], 'c2'), paged(['u3'], null))).toEqual([
    ['u1', 'u3', 'u2'],
    0,
  ]);
  const whole = [paged(['u1', 'u2'], 'c2'), paged(['u9'], null)];
  expect(await ids(...whole, paged([], null))).toEqual([['u1', 'u2', 'u9'], 1]);
  expect(await ids(paged(['u1'], null), paged([], null))).toEqual([['u1'], 1]);
});

test.each([
  ['is no list', { data: {} }, 'data'],
  ['does not say whether more follow', { data: [], meta: { has_more: null } }, 'has_more'],
  [
    'repeats its cursor',
    { ...updates(['u1']), meta: { has_more: true, next_cursor: 'same' } },
    'next_cursor',
  ],
])(
  'a page of posts that %s leaves those of its company as they are stored, and others are listed',
  async (_, page, field) => {
    const of = (company_id: string, id: string) => ({ id, company_id, title: 'stored' });
    const stored = new Map([
      ['company_updates' as const, [of('co_1', 'u1'), of('co_1', 'u8'), of('co_2', 'u9')]],
    ]);
    const investedRounds = [{ id: 'ofr_1', companyId: 'co_2', currency: 'usd' }];
    const answers = {
      ...served,
      '/companies/co_1/updates': page,
      '/companies/co_2/updates': updates(['u3']),
    };
    const result = await listed({ answers, known: { stored, investedRounds } });
    expect(result.fault).toBeNull();
    expect(result.of('company_updates')).toMatchObject({
      kind: 'complete',
      problem: `a response with a company_update has no usable \`${field}\` for co_1`,
    });
    expect(result.rows('company_updates').map(({ id }) => id)).toEqual(['u1', 'u8', 'u3']);
  },
);
