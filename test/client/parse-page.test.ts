import { describe, expect, test } from 'vitest';
import { parsePage as parse } from '../../src/client/parse-page.js';
import { isFault } from '../../src/domain/fault.js';
import { deltaPage } from './fixtures.js';

const parsePage = (body: unknown) => parse(body, JSON.stringify(body));

function faultOf(body: unknown): string {
  try {
    parsePage(body);
  } catch (error) {
    if (isFault(error, 'contract_broken')) return error.message;
    throw error;
  }
  throw new Error('the page was accepted');
}

describe('parse page: a page of the feed', () => {
  test("CONV-06 INV-07 CLIENT-07 the contract's example page is read in the order sent", () => {
    const page = parsePage(deltaPage());
    expect(page).toMatchObject({
      mode: 'delta',
      hasMore: false,
      next: 'c_000184480',
      publishedThrough: '2026-10-20T09:32:05.000Z',
    });
    expect(page.parse().items.map((item) => item.kind)).toEqual(['record', 'tombstone', 'record']);
  });

  test('a malformed record is rejected and affects no other record of its page', () => {
    const { data, meta } = deltaPage();
    const page = parsePage({ data: [data[0], { id: 'inv_1' }, 7, data[1]], meta });
    expect(page.parse().items.map((item) => item.kind)).toEqual([
      'record',
      'rejected',
      'rejected',
      'tombstone',
    ]);
  });

  test('a rejected record keeps its exact text, unlike JSON.parse', () => {
    const bad = '{ "id":"inv_1", "amounts":{"committed_cents":9007199254740993}, "id":"inv_2" }';
    const text = `{"meta":${JSON.stringify(deltaPage().meta)},"data":[${JSON.stringify(deltaPage().data[0])}, ${bad} ,7]}`;
    const page = parse(JSON.parse(text), text);
    expect(page.parse().items[1]).toMatchObject({ kind: 'rejected', id: 'inv_2', body: bad });
    expect(page.parse().items[2]).toMatchObject({ kind: 'rejected', id: null, body: '7' });
  });

  test('records of a page are parsed when asked for, and once', () => {
    const body = deltaPage();
    const page = parsePage(body);
    expect(page.size).toBe(body.data.length);
    body.data.length = 1;
    expect(page.parse().items).toHaveLength(1);
    expect(page.parse().items).toBe(page.parse().items);
  });

  test('INV-08 PAGE-05 an empty page still has its cursor', () => {
    expect(parsePage({ data: [], meta: { ...deltaPage().meta, page_count: 0 } }).parse()).toMatchObject({
      items: [],
      next: 'c_000184480',
    });
  });

  test('INV-16 a page of the deprecated alias, without published_through, is accepted', () => {
    const { published_through: _, ...meta } = deltaPage().meta;
    expect(parsePage({ data: [], meta: { ...meta, mode: 'bootstrap', company_id: 'co_1' } })).toMatchObject({
      mode: 'listing',
      publishedThrough: null,
    });
  });

  test('a numeric cursor is sent back as its digits', () => {
    expect(parsePage({ data: [], meta: { ...deltaPage().meta, next_cursor: 184480 } }).next).toBe('184480');
  });

  const meta = deltaPage().meta;
  test.each([1, 25, 100, 250])(
    'a page of twice the %i records that were asked for, or of 200, is accepted, and no larger one',
    (perPage) => {
      const most = Math.max(200, 2 * perPage);
      const read = (length: number) => parse({ data: Array(length).fill(7), meta }, '', perPage).size;
      expect(read(most)).toBe(most);
      expect(() => read(most + 1)).toThrow(
        `${perPage} records were asked for, ${most + 1} came, and at most ${most} are accepted`,
      );
    },
  );

  test('a cursor that fits into a URL and a database is kept, and no other', () => {
    const next = (next_cursor: string) => ({ data: [], meta: { ...meta, next_cursor } });
    expect(parsePage(next('c'.repeat(4_096))).next).toBe('c'.repeat(4_096));
    for (const cursor of ['c'.repeat(4_097), 'c\0', 'c\ud800'])
      expect(faultOf(next(cursor))).toContain('`meta.next_cursor` is not text of at most 4096 characters');
  });

  test.each([
    ['null', null, 'the body is not an object'],
    ['a list', [], 'the body is not an object'],
    ['text', 'data', 'the body is not an object'],
    ['data as object', { data: {}, meta }, '`data` is not an array'],
    ['data null', { data: null, meta }, '`data` is not an array'],
    ['no meta', { data: [] }, '`meta` is missing'],
    ['a list as meta', { data: [], meta: [meta] }, '`meta` is missing'],
    ['text as meta', { data: [], meta: 'delta' }, '`meta` is missing'],
    [
      'no has_more',
      { data: [], meta: { ...meta, has_more: undefined } },
      '`meta.has_more` is not true or false',
    ],
    ['no cursor', { data: [], meta: { ...meta, next_cursor: undefined } }, '`meta.next_cursor` is missing'],
    ['an empty cursor', { data: [], meta: { ...meta, next_cursor: '' } }, '`meta.next_cursor` is missing'],
    ['no mode', { data: [], meta: { ...meta, mode: undefined } }, '`meta.mode` is neither'],
    [
      'an invalid time',
      { data: [], meta: { ...meta, published_through: 'soon' } },
      '`meta.published_through` is not a timestamp',
    ],
  ])('a page with %s is contract_broken, and the fault names the problem', (_, body, named) => {
    expect(faultOf(body)).toContain(named);
  });
});
