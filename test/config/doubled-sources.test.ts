import { expect, test } from 'vitest';
import { load, minimal, problems } from './load-config.js';

const token = { env: 'A' };
const other = { env: 'B' };
const credentials = { file: 'person.json', clientId: 'pk_test_1' };
const config = (one: object, two: object) => ({
  ...minimal,
  sources: [
    { name: 'one', ...one },
    { name: 'two', ...two },
  ],
});

test.each<[string, object, object]>([
  ['one company', { token, company: 'co_1' }, { token: other, company: 'co_1' }],
  [
    'one company in other words',
    { token, company: 'co_1' },
    { token: other, filters: { companyId: 'co_1' } },
  ],
  [
    'one company and filter',
    { token, company: 'co_1', filters: { offeringId: 'ofr_1' } },
    { token: other, company: 'co_1', filters: { offeringId: 'ofr_1' } },
  ],
  [
    'one installation',
    { token, company: 'co_1', installation: 'inst_1' },
    { token: other, company: 'co_1', installation: 'inst_1' },
  ],
  ['all that one token sees', { token }, { token }],
  ['all that one sign-in sees', { credentials }, { credentials }],
])('two sources that read %s are an error', (_what, one, two) => {
  expect(problems(config(one, two))).toEqual([
    expect.objectContaining({
      path: 'sources[1]',
      message: 'reads the same records as sources[0] ("one"); every record would be counted twice',
    }),
  ]);
});

test.each<[string, object, object, boolean]>([
  ['two companies', { token, company: 'co_1' }, { token, company: 'co_2' }, false],
  ['two tokens of which nothing is known', { token }, { token: other }, false],
  [
    'two rounds of one company',
    { token, company: 'co_1', filters: { offeringId: 'ofr_1' } },
    { token, company: 'co_1', filters: { offeringId: 'ofr_2' } },
    false,
  ],
  [
    'a company and one of its rounds',
    { token, company: 'co_1' },
    { token, company: 'co_1', filters: { offeringId: 'ofr_2' } },
    true,
  ],
  [
    'two installations on one company',
    { token, company: 'co_1', installation: 'inst_1' },
    { token: other, company: 'co_1', installation: 'inst_2' },
    true,
  ],
  ['a company and a person in it', { token, company: 'co_1' }, { credentials, company: 'co_1' }, true],
])(
  '%s are valid as two sources, with a warning about possible duplicates: %s',
  (_what, one, two, overlaps) => {
    const { warnings } = load(config(one, two));
    expect(warnings).toEqual(
      overlaps
        ? [
            'sources[1] ("two") and sources[0] ("one") both read co_1: records visible to both are counted twice in totals over all sources',
          ]
        : [],
    );
  },
);
