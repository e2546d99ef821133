import { expect, test } from 'vitest';
import { judgeQuarters, type Quarter } from './judge-quarters.js';

const flat: Quarter = {
  fileBytes: 1_000_000,
  contentBytes: 1_000_000,
  heapBytes: 40 * 2 ** 20,
  idleStatements: 19,
  idleRequests: 1,
  overdue: { tick_rows: 0 },
  bounded: { alert_rows: 700, staged_rows: 0 },
};

test('years: the last quarter is compared with the first full one, and a mirror that only holds more is flat', () => {
  const larger = { ...flat, fileBytes: 5_000_000, contentBytes: 5_000_000 };
  expect(judgeQuarters([flat, flat, larger])).toEqual([]);
  expect(judgeQuarters([flat, flat])).toEqual([]);
});

test.each<[string, Partial<Quarter>, string]>([
  ['a file that keeps free pages', { fileBytes: 1_600_000 }, 'file over content grew from 1 to 1.6'],
  ['a heap', { heapBytes: 90 * 2 ** 20 }, 'heap grew'],
  ['the statements of an idle tick', { idleStatements: 27 }, 'statements of an idle tick grew from 19 to 27'],
  ['the requests of an idle tick', { idleRequests: 2 }, 'requests of an idle tick grew from 1 to 2'],
  [
    'a table with a retention',
    { bounded: { alert_rows: 1_500 } },
    'rows of alert_rows grew from 700 to 1500',
  ],
  ['what is in progress', { bounded: { staged_rows: 51 } }, 'rows of staged_rows grew from 0 to 51'],
])('years: %s that grows is reported', (_, more, expected) => {
  expect(judgeQuarters([flat, flat, { ...flat, ...more }])).toEqual([expect.stringContaining(expected)]);
});

test('years: one row past its retention is reported, in any quarter', () => {
  expect(judgeQuarters([flat, { ...flat, overdue: { tick_rows: 1 } }])).toEqual([
    'quarter 2: 1 rows of tick_rows are past their retention',
  ]);
});
