import { expect, test } from 'vitest';
import { judgeFeed, judgeSet } from './histories.js';

const entries = (from: number, to: number, content = (seq: number) => `change ${seq}`) =>
  Array.from({ length: to - from + 1 }, (_, at) => ({ seq: from + at, content: content(from + at) }));

test('judge of sets: each accepted delivery appears once, and one without an answer may', () => {
  expect(judgeSet(['a', 'b'], ['b', 'a'])).toEqual([]);
  expect(judgeSet(['a'], ['a', 'b'], new Set(['b', 'c']))).toEqual([]);
  expect(judgeSet(['a', 'b'], ['a', 'a', 'c'])).toEqual(['lost: b', '2 times: a', 'never accepted: c']);
});

test('judge of feeds: consumers that read at different times read prefixes of one list', () => {
  const reads = [
    { consumer: 'early', after: 0, entries: entries(1, 3) },
    { consumer: 'late', after: 0, entries: entries(1, 9) },
    { consumer: 'early', after: 3, entries: [] },
    { consumer: 'early', after: 3, entries: entries(4, 9) },
  ];
  expect(judgeFeed(reads, entries(1, 10))).toEqual([]);
});

test.each([
  [
    'a gap',
    [{ consumer: 'one', after: 0, entries: [...entries(1, 2), ...entries(4, 5)] }],
    'one read 4 where 3 follows',
  ],
  [
    'another order',
    [{ consumer: 'one', after: 0, entries: entries(1, 2).reverse() }],
    'one read 2 where 1 follows',
  ],
  [
    'an entry that was withdrawn',
    [{ consumer: 'one', after: 9, entries: entries(10, 11) }],
    'one read 11, which is not in the feed',
  ],
  [
    'an entry that changed',
    [{ consumer: 'one', after: 0, entries: entries(1, 1, () => 'other') }],
    'one read another entry under 1',
  ],
  [
    'a read that skips',
    [
      { consumer: 'one', after: 0, entries: entries(1, 2) },
      { consumer: 'one', after: 5, entries: entries(6, 7) },
    ],
    'one went on after 5, not after 2',
  ],
])('judge of feeds: %s is reported', (_, reads, expected) => {
  expect(judgeFeed(reads, entries(1, 10))).toContain(expected);
});
