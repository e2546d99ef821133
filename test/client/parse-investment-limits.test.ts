import { expect, test } from 'vitest';
import { wholeRecord } from './fixtures.js';
import { problemOf, recordOf } from './parsed-investment.js';

const record: Record<string, unknown> = { ...wholeRecord(), blockers: [], contracts: [] };
const amounts = wholeRecord().amounts as object;
const named = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`new_${at}`, 1]));
const list = (length: number): readonly number[] => Array(length).fill(1);
const signed = (count: number) => Array.from({ length: count }, (_, at) => ({ signer: at }));

const valuesProblem = (field: string) =>
  `lists and unknown fields hold more than 2000 values, up to ${field}`;
const fieldsProblem = 'the record has more than 200 unknown fields';

test.each<[string, (length: number) => object, number, string]>([
  [
    'a message',
    (length) => ({ message: 'é'.repeat(length) }),
    100_000,
    'message is longer than 100000 characters',
  ],
  ['a status', (length) => ({ status: 's'.repeat(length) }), 200, 'status is longer than 200 characters'],
  [
    'a currency',
    (length) => ({ amounts: { ...amounts, currency: '€'.repeat(length) } }),
    200,
    'amounts.currency is longer than 200 characters',
  ],
  ['the number of unknown fields', (count) => named(count), 200, fieldsProblem],
  [
    'the number of unknown fields, also of the parts of a record,',
    (count) => ({
      ...named(count - 2),
      amounts: { ...amounts, fee: 1 },
      investor: { id: 'usr_1', pet: 'cat' },
    }),
    200,
    fieldsProblem,
  ],
  [
    'the number of unknown fields, also of contracts,',
    (count) => ({ ...named(count - 1), contracts: signed(2) }),
    200,
    fieldsProblem,
  ],
  [
    'the number of values of an unknown field and of those within it',
    (count) => ({ new: list(count - 1) }),
    2_000,
    valuesProblem('an unknown field of the record'),
  ],
  [
    'the number of values of a list and of unknown fields together',
    (count) => ({ blockers: signed(400), new: list(count - 802) }),
    2_000,
    valuesProblem('an unknown field of the record'),
  ],
])('parse investment: the limit of %s', (_, of, most, problem) => {
  expect(recordOf({ ...record, ...of(most) }).investment.id).toBe(record.id);
  expect(problemOf({ ...record, ...of(most + 1) })).toBe(problem);
});

test('parse investment: a record without blockers and contracts has none', () => {
  for (const none of [undefined, null, []])
    expect(recordOf({ ...record, blockers: none, contracts: none }).investment).toMatchObject({
      blockers: '[]',
      contracts: '[]',
      extra: null,
    });
});

test('parse investment: an unknown field of several contracts is kept of each, and counts once', () => {
  const { investment } = recordOf({ ...record, contracts: signed(300) });
  expect(JSON.parse(investment.extra ?? '')).toEqual({
    'contracts.signer': signed(300).map(({ signer }) => signer),
  });
});

test('parse investment: an unknown field nested too deeply is rejected instead of ending the process', () => {
  const deep = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`);
  expect(problemOf({ ...record, pit: deep })).toBe(
    'an unknown field of the record is nested deeper than 32 levels',
  );
  expect(problemOf({ ...record, blockers: deep })).toBe('blockers is nested deeper than 32 levels');
});

test('parse investment: reads each field of a record a few times at most, however many it has', () => {
  const reads = new Map<string, number>();
  const counting = <Value>(value: Value, path: string): Value =>
    typeof value !== 'object' || value === null
      ? value
      : (new Proxy(value, {
          get: (target, key, receiver) => {
            const at = `${path}.${String(key)}`;
            reads.set(at, (reads.get(at) ?? 0) + 1);
            return counting(Reflect.get(target, key, receiver), at);
          },
        }) as Value);
  const extra = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`extra_${at}`, at]));
  recordOf(counting({ ...wholeRecord(), ...extra }, ''));
  expect(reads.size).toBeGreaterThan(40);
  expect([...reads].filter(([, times]) => times > 4)).toEqual([]);
});
