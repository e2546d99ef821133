import { expect, test } from 'vitest';
import { instantFromMillis } from '../../src/domain/instant.js';
import {
  type ListingFacts,
  type ListingQuota,
  listingLeft,
  together,
} from '../../src/reading/listing-left.js';

const now = Date.parse('2026-10-20T13:29:00.000Z');
const minute = 60_000;
const hour = 60 * minute;
const at = (minutes: number) => instantFromMillis(now + minutes * minute);

/** The limit of a token: 950 of 1,000 requests are for listings. */
const token: ListingQuota = { limit: 1_000, left: 1_000, kept: 50, sharedBy: 1, resetsAt: now + 31 * minute };
const usual: ListingFacts = {
  now,
  rows: 41_200,
  rowsExpected: 103_000,
  perPage: 100,
  pageMillis: 250,
  quotas: [token],
};
const quotaOf = (over: Partial<ListingQuota>) => [{ ...token, ...over }];

// 618 pages are left.
test.each<[string, Partial<ListingFacts>, [number | null, number | null, string | null]]>([
  ['the hour allows every page that is left', {}, [155, 0, null]],
  ['without limits, only the speed counts', { quotas: [] }, [155, 0, null]],
  ['exactly as many requests as pages are left', { quotas: quotaOf({ left: 668 }) }, [155, 0, null]],
  [
    'one request too few: the last page waits for the next hour',
    { quotas: quotaOf({ left: 667 }) },
    [31 * 60 + 1, 31 * 60 - 154, at(31)],
  ],
  ['the quota is used up now', { quotas: quotaOf({ left: 0 }) }, [31 * 60 + 155, 31 * 60, at(31)]],
  [
    'only the part that webhooks keep is left',
    { quotas: quotaOf({ left: 50 }) },
    [31 * 60 + 155, 31 * 60, at(31)],
  ],
  [
    'several hours: each whole one waits for what reading leaves of it',
    { rowsExpected: 41_200 + 300_000, quotas: quotaOf({ left: 0 }) },
    // 3,000 pages are 950, 950, 950 and 150: the present wait, and three whole hours but for the time of reading.
    [31 * 60 + 3 * 3_600 + 38, 31 * 60 + 3 * (3_600 - 237.5), at(31)],
  ],
  [
    'pages so slow that no hour is used up wait for nothing',
    { rowsExpected: 41_200 + 300_000, pageMillis: 10_000 },
    [30_000, 0, null],
  ],
  [
    'a window that has ended is whole again',
    { quotas: quotaOf({ left: 0, resetsAt: now - 5 * hour }) },
    [155, 0, null],
  ],
  ['a window that ends now is whole again', { quotas: quotaOf({ left: 0, resetsAt: now }) }, [155, 0, null]],
  [
    'few requests are left, and as many pages',
    { rows: 102_000, quotas: quotaOf({ left: 60, resetsAt: now + hour }) },
    [3, 0, null],
  ],
  [
    'a limit that allows one page an hour',
    { rows: 102_700, quotas: quotaOf({ limit: 51, left: 51 }) },
    [31 * 60 + 3_601, 31 * 60 + 3_600, at(31)],
  ],
  [
    'a window that ends before it is used up: the first wait is in the next one',
    { rowsExpected: 41_200 + 300_000, quotas: quotaOf({ resetsAt: now + minute }) },
    [750 + 2 * (3_600 - 237.5), 2 * (3_600 - 237.5), at(61)],
  ],
  [
    'two listings share what is left',
    { quotas: quotaOf({ left: 1_050, sharedBy: 2 }) },
    [31 * 60 + 30, 31 * 60 - 125, at(31)],
  ],
  [
    'of two limits, the one that takes longer counts',
    { quotas: [token, { ...token, left: 50, resetsAt: now + 5 * minute }] },
    [5 * 60 + 155, 5 * 60, at(5)],
  ],
  [
    'of two limits, the one that takes longer counts, whichever comes first',
    { quotas: [{ ...token, left: 50, resetsAt: now + 5 * minute }, token] },
    [5 * 60 + 155, 5 * 60, at(5)],
  ],
  ['a page of which nothing is left to round', { rows: 102_999 }, [1, 0, null]],
])('the time that a listing takes: %s', (_, over, [seconds, waiting, until]) => {
  const left = listingLeft({ ...usual, ...over });
  expect([left.seconds_left, left.seconds_waiting, left.continues_at]).toEqual([
    seconds,
    waiting === null ? null : Math.ceil(waiting),
    until,
  ]);
});

test.each<[string, Partial<ListingFacts>]>([
  ['the platform does not say how many records there are', { rowsExpected: null }],
  ['more records came than were expected', { rows: 103_001 }],
  ['as many records came as were expected, and the listing has not ended', { rows: 103_000 }],
  ['the speed is not known yet', { pageMillis: null }],
  ['what is left of the quota is not known', { quotas: null }],
  ['the quota leaves listings nothing at all', { quotas: quotaOf({ limit: 1, left: 0, kept: 1 }) }],
  ['more listings share the quota than it has requests', { quotas: quotaOf({ left: 0, sharedBy: 5_000 }) }],
])('the time that a listing takes is not known when %s', (_, over) => {
  const left = listingLeft({ ...usual, ...over });
  expect([left.seconds_left, left.seconds_waiting]).toEqual([null, null]);
  expect(left.text).toMatch(/not known/);
});

test('the time that a listing takes is never shown as none, and always a number, whatever the facts are', () => {
  for (const rows of [0, 1, 99, 102_999, 103_000])
    for (const pageMillis of [0, 0.001, 250])
      for (const left of [0, 49, 51, 1_000])
        for (const resetsAt of [now - 1, now, now + 1, now + hour])
          for (const sharedBy of [0, 1, 3]) {
            const seen = listingLeft({
              ...usual,
              rows,
              pageMillis,
              quotas: quotaOf({ left, resetsAt, sharedBy }),
            });
            expect(seen.seconds_left ?? 1).toBeGreaterThanOrEqual(1);
            expect(JSON.stringify(seen)).not.toMatch(/NaN|Infinity|[^\d]0 (?:s|min) left/);
          }
});

test.each<[string, Partial<ListingFacts>]>([
  ['41,200 of about 103,000 records, some 3 min left', {}],
  ['102,999 of about 103,000 records, some 10 s left', { rows: 102_999 }],
  [
    "41,200 of about 103,000 records, some 34 min left, of which 31 min wait for the hour's quota (continues at 14:00 UTC)",
    { quotas: quotaOf({ left: 12 }) },
  ],
  [
    "41,200 of about 103,000 records, some 32 min left, of which 30 min wait for the hour's quota (the first wait ends at 14:00 UTC)",
    { quotas: quotaOf({ left: 450 }) },
  ],
  [
    "0 of about 2,000,000 records, some 20 h 32 min left, of which 19 h 8 min wait for the hour's quota (the first wait ends at 14:00 UTC)",
    { rows: 0, rowsExpected: 2_000_000 },
  ],
  ['41,200 of about 103,000 records; time left not known', { pageMillis: null }],
  ['103,000 of about 103,000 records; time left not known', { rows: 103_000 }],
  [
    "41,200 of about 103,000 records, some 34 min left, of which 31 min wait for the hour's quota (the first wait ends at 14:00 UTC)",
    { quotas: quotaOf({ left: 51 }) },
  ],
  [
    "41,200 of about 103,000 records; time left not known; continues at 14:00 UTC with the next hour's quota",
    { pageMillis: null, quotas: quotaOf({ left: 0 }) },
  ],
  [
    "41,200 records so far; how many more is not known; 562 requests left in this hour's quota",
    { rowsExpected: null, quotas: quotaOf({ left: 612 }) },
  ],
  [
    "41,200 records so far; how many more is not known; continues at 14:00 UTC with the next hour's quota",
    { rowsExpected: null, quotas: quotaOf({ left: 0 }) },
  ],
  ['41,200 records so far; how many more is not known', { rowsExpected: null, quotas: [] }],
  ['41,200 records so far, more than the 40,000 expected; time left not known', { rowsExpected: 40_000 }],
])('the progress of a listing in words: %s', (text, over) => {
  expect(listingLeft({ ...usual, ...over }).text).toBe(text);
});

test.each([
  [50, '50 s'],
  [51, '60 s'],
  [60, '1 min'],
  [61, '2 min'],
  [3_540, '59 min'],
  [3_541, '1 h'],
  [3_601, '1 h 1 min'],
  [86_340, '23 h 59 min'],
  [86_400, '1 d'],
  [86_401, '1 d 1 h'],
])('a listing that takes %d s takes some %s', (seconds, text) => {
  const left = listingLeft({ ...usual, rows: 0, rowsExpected: 100, pageMillis: seconds * 1_000, quotas: [] });
  expect(left.text).toBe(`0 of about 100 records, some ${text} left`);
});

const short = listingLeft({ ...usual, rows: 100, rowsExpected: 1_100 });
const long = listingLeft({ ...usual, quotas: quotaOf({ left: 0 }) });
const unknown = listingLeft({ ...usual, rowsExpected: null });

test('listings at the same time add up, and end with the last of them', () => {
  expect(together([short, long])).toMatchObject({
    ...{ rows: 41_300, rows_expected: 104_100, requests_left: 950 },
    ...{ seconds_left: long.seconds_left, seconds_waiting: long.seconds_waiting, continues_at: at(31) },
    text: "41,300 of about 104,100 records, some 34 min left, of which 31 min wait for the hour's quota (the first wait ends at 14:00 UTC)",
  });
});

test('listings at the same time have no known end when one of them has none', () => {
  expect(together([short, unknown])).toMatchObject({
    ...{ rows: 41_300, rows_expected: null, seconds_left: null, seconds_waiting: null },
    text: expect.stringContaining('41,300 records so far; how many more is not known'),
  });
  expect(together([unknown, long]).text).toBe(
    "82,400 records so far; how many more is not known; 950 requests left in this hour's quota",
  );
});

test('listings that wait at the same time continue with the last of them, or if their ends are not known with the first', () => {
  const until = (minutes: number) => quotaOf({ left: 0, resetsAt: now + minutes * minute });
  const soon = { ...usual, quotas: until(5) };
  const late = { ...usual, quotas: until(31) };
  expect(together([listingLeft(soon), listingLeft(late)])).toMatchObject({
    continues_at: at(31),
    text: expect.stringContaining('(continues at 14:00 UTC)'),
  });
  const lasting = [late, soon].map((facts) => listingLeft({ ...facts, pageMillis: null }));
  expect(together(lasting).continues_at).toBe(at(5));
});

test('the progress of several listings is that of the only one there is', () => {
  expect(together([long])).toEqual(long);
});
