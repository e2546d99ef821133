import { expect, test as pure } from 'vitest';
import type { FeedItem } from '../../src/domain/investment.js';
import {
  boundedDrift,
  cutField,
  driftFieldsMax,
  moreFields,
  quarantineMax,
} from '../../src/store/anomaly-limits.js';
import { cappedBody, digestOf } from '../../src/store/quarantine-body.js';
import { test } from './both-databases.js';
import { mirrorFixture } from './mirror-fixture.js';
import { identity, record, rejected } from './samples.js';

const open = 'SELECT count(*) AS n FROM quarantine WHERE resolved_at IS NULL';

/** The same record from a listing and from the sweep after it: with other publication fields and another key order. */
const listed = (no: number) =>
  rejected(
    null,
    `{"id":${no},"amounts":{"a":1,"b":2},"observed_at":"2026-01-01","cursor":null,"reason":null}`,
  );
const swept = (no: number) =>
  rejected(null, `{"reason":"changed","cursor":"c_${no}","amounts":{"b":2,"a":1},"id":${no}}`);

const unreadable = (from: number, count: number): FeedItem[] =>
  Array.from({ length: count }, (_, at) => rejected(`inv_${from + at}`, '{}'));

test('records without an id: six records in a listing, its sweep and a re-listing make six quarantine entries', async () => {
  const { list, delta, rows } = await mirrorFixture();
  const bad = [1, 2, 3, 4, 5, 6];
  await list([bad.map(listed)]);
  expect(await delta(bad.map(swept))).toMatchObject({ quarantined: 0 });
  expect(await rows(open)).toEqual([{ n: 6 }]);
  await list([bad.map(listed)], 'relist');
  expect(await delta([...bad.map(swept), swept(7)])).toMatchObject({ quarantined: 1 });
  expect(await rows(open)).toEqual([{ n: 7 }]);
  expect(await rows('SELECT quarantined FROM sources')).toEqual([{ quarantined: 7 }]);
});

test('records without an id: a listing that does not name them resolves them and deletes body and digest', async () => {
  const { list, rows } = await mirrorFixture();
  await list([[listed(1), record('inv_1')]]);
  expect(await rows('SELECT count(digest) AS digests FROM quarantine_rows')).toEqual([{ digests: 1 }]);
  await list([[record('inv_1')]], 'relist');
  expect(await rows('SELECT body, digest, resolved_at IS NULL AS open FROM quarantine_rows')).toEqual([
    { body: null, digest: null, open: 0 },
  ]);
  expect(await rows('SELECT quarantined FROM sources')).toEqual([{ quarantined: 0 }]);
});

test('records without an id: an entry from before digests existed is not quarantined a second time', async () => {
  const { list, delta, rows } = await mirrorFixture();
  await list([[listed(1)]]);
  await rows('UPDATE quarantine_rows SET digest = NULL RETURNING digest');
  expect(await delta([listed(1)])).toMatchObject({ quarantined: 0 });
  expect(await rows('SELECT count(*) AS n, count(digest) AS digests FROM quarantine_rows')).toEqual([
    { n: 1, digests: 1 },
  ]);
});

test('a full quarantine stores no more entries, counts them in one row and shrinks with the next listing', async () => {
  const { list, delta, rows } = await mirrorFixture();
  await list([[record('inv_1')]]);
  for (let from = 0; from < quarantineMax; from += 2_500) await delta(unreadable(from, 2_500));
  expect(await rows(open)).toEqual([{ n: quarantineMax }]);
  expect(await delta(unreadable(quarantineMax, 30))).toMatchObject({ quarantined: 30 });
  expect(await delta(unreadable(0, 5))).toMatchObject({ quarantined: 0 });
  await delta([swept(1)]);
  expect(await rows(open)).toEqual([{ n: quarantineMax + 1 }]);
  expect(await rows('SELECT id, body, times FROM quarantine WHERE times > 1')).toEqual([
    { id: null, body: '', times: 31 },
  ]);
  expect(await rows('SELECT quarantined FROM sources')).toEqual([{ quarantined: quarantineMax + 31 }]);
  await list([[record('inv_1'), ...unreadable(3, 2)]], 'relist');
  expect(await rows('SELECT id, times FROM quarantine WHERE resolved_at IS NULL ORDER BY id')).toEqual([
    { id: 'inv_3', times: 1 },
    { id: 'inv_4', times: 1 },
  ]);
  expect(await rows('SELECT quarantined FROM sources')).toEqual([{ quarantined: 2 }]);
});

test('entries beyond a full quarantine are counted once, however often they are listed', async () => {
  const { list, rows } = await mirrorFixture();
  await list([[record('inv_1')]]);
  for (const kind of ['relist', 'relist', 'relist'] as const) {
    await rows(`UPDATE sources SET quarantined = ${quarantineMax} RETURNING quarantined`);
    await list([[record('inv_1'), ...unreadable(1, 20)], unreadable(21, 10)], kind);
  }
  expect(await rows('SELECT times FROM quarantine WHERE resolved_at IS NULL')).toEqual([{ times: 30 }]);
  expect(await rows('SELECT quarantined FROM sources')).toEqual([{ quarantined: 30 }]);
});

test('an entry without an id that a page has twice counts once beyond a full quarantine, too', async () => {
  const { list, delta, rows } = await mirrorFixture();
  await list([[record('inv_1')]]);
  await rows(`UPDATE sources SET quarantined = ${quarantineMax} RETURNING quarantined`);
  expect(await delta([listed(1), listed(2), swept(1)])).toMatchObject({ quarantined: 2 });
  expect(await rows('SELECT times FROM quarantine')).toEqual([{ times: 2 }]);
});

const kibibytes64 = 'x'.repeat(64 * 1_024);

pure(
  'records without an id: a body beyond 64 KiB is cut, and none of its bytes become half a character',
  () => {
    expect(cappedBody(kibibytes64)).toBe(kibibytes64);
    const cut = cappedBody(`${kibibytes64.slice(4)}\u{1f600}\u{1f600}`);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(64 * 1_024);
    expect(cut.startsWith(kibibytes64.slice(4))).toBe(true);
  },
);

/** Two publications of one record, the body of each so long. */
const published = (length: number): readonly string[] =>
  ['c_1', 'c_2'].map((cursor) => `{"cursor":"${cursor}","text":"${'x'.repeat(length - 26)}"}`);

pure.each<[string, 'equal' | 'different', readonly string[]]>([
  ['publications of one record', 'equal', published(64 * 1_024)],
  ['publications that are too long to be parsed', 'different', published(64 * 1_024 + 1)],
  ['texts', 'different', ['"a"', '"b"']],
  ['numbers', 'different', ['1', '2']],
  ['lists', 'different', ['[1]', '[2]']],
  ['bodies that are no JSON', 'different', ['{', '{{']],
])('records without an id: two %s have %s digests', (_, wanted, bodies) => {
  const [one, other] = bodies.map((body) => digestOf(body, 'no id'));
  expect(one === other ? 'equal' : 'different').toBe(wanted);
});

pure('records without an id: what is wrong with it identifies an entry whose body is not kept', () => {
  expect(digestOf('', 'no id')).not.toBe(digestOf('', 'no status'));
});

pure.each<[string, readonly string[], readonly string[], readonly string[]]>([
  ['the last room is taken by the first of two new names', [], ['new', 'newer'], ['new', moreFields]],
  ['a known name takes no room', [], ['f0', 'new'], ['f0', 'new']],
  ['names beyond the limit, which were counted before, take none', [moreFields], ['new'], ['new']],
])('unknown fields: of 499 known ones, %s', (_, more, found, counted) => {
  const known = new Set([...Array.from({ length: 499 }, (_, at) => `f${at}`), ...more]);
  const counts = boundedDrift(new Map(found.map((name) => [name, 1])), known);
  expect([...counts.keys()]).toEqual(counted);
});

pure('unknown fields: a name of 200 characters is not truncated', () => {
  expect(cutField('n'.repeat(200))).toBe('n'.repeat(200));
});

test('quarantine: an unreadable record that is read again stays one entry, with its newest body and problem', async () => {
  const { list, delta, rows } = await mirrorFixture();
  await list([[record('inv_1')]]);
  await delta([rejected('inv_2', '{"version":1}', 'status is missing')]);
  await delta([rejected('inv_2', '{"version":2}', 'amounts is missing')]);
  expect(await rows('SELECT id, body, problem FROM quarantine_rows')).toEqual([
    { id: 'inv_2', body: '{"version":2}', problem: 'amounts is missing' },
  ]);
});

const withFields = (id: string, count: number, prefix: string): FeedItem =>
  record(id, {
    extra: JSON.stringify(
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, 1])),
    ),
  });

test('unknown fields: the first 500 names have their own counts, known names keep theirs, all others share one', async () => {
  const { list, delta, rows } = await mirrorFixture();
  await list([[withFields('inv_1', driftFieldsMax - 2, 'a')]]);
  await delta([withFields('inv_2', 5, 'b'), record('inv_3', {}, identity('Ann', { extra: '{"c":1}' }))]);
  await delta([withFields('inv_4', 4, 'b'), withFields('inv_5', 1, 'a')]);
  const counted = "SELECT field, times FROM drift WHERE field LIKE 'b%' OR times > 1 ORDER BY field";
  expect(await rows(counted)).toEqual([
    { field: moreFields, times: 6 },
    { field: 'a0', times: 2 },
    { field: 'b0', times: 2 },
    { field: 'b1', times: 2 },
  ]);
  expect(await rows('SELECT count(*) AS n FROM drift')).toEqual([{ n: driftFieldsMax + 1 }]);
});

test('unknown fields: a long name is truncated, and names with the same truncated form are counted together', async () => {
  const { list, rows } = await mirrorFixture();
  const long = 'n'.repeat(300);
  await list([[record('inv_1', { extra: JSON.stringify({ [`${long}1`]: 1, [`${long}2`]: 1 }) })]]);
  expect(await rows('SELECT field, times FROM drift')).toEqual([{ field: `${'n'.repeat(200)}…`, times: 2 }]);
});
