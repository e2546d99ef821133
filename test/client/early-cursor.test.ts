import { expect, test } from 'vitest';
import { earlyCursor } from '../../src/client/early-cursor.js';
import { parsePage } from '../../src/client/parse-page.js';
import fc from '../support/property.js';

const meta = (more: boolean, next: string) => ({
  mode: 'bootstrap',
  has_more: more,
  page_count: 1,
  next_cursor: next,
  published_through: '2026-10-20T09:30:04.000Z',
});
/** A meta that has so many characters with its key. */
const padded = (length: number) => {
  const padding = length - JSON.stringify({ meta: { padding: '', ...meta(true, 'p2') } }).slice(1, -1).length;
  return { padding: 'x'.repeat(padding), ...meta(true, 'p2') };
};

test.each([
  ['early cursor: the end of a page names the next position', { data: [], meta: meta(true, 'p2') }, 'p2'],
  ['early cursor: the last page has no next position', { data: [], meta: meta(false, 'c9') }, null],
  [
    'early cursor: a page that begins with its meta gives no guess',
    { meta: meta(true, 'p2'), data: [{}] },
    null,
  ],
  [
    "early cursor: a record's own meta is not the page's",
    { meta: meta(true, 'p2'), data: [{ meta: { has_more: true } }] },
    null,
  ],
  [
    'early cursor: text that looks like a meta is not one',
    { data: ['"meta":{"has_more":true,"next_cursor":"x"}'], meta: 1 },
    null,
  ],
  ['early cursor: an empty position gives no guess', { data: [], meta: meta(true, '') }, null],
  ['early cursor: a page without a meta gives no guess', { no: meta(true, 'p2') }, null],
  ['early cursor: a meta of 8 KB is read', { data: [], meta: padded(8_192) }, 'p2'],
  ['early cursor: a longer meta is not read twice', { data: [], meta: padded(8_193) }, null],
])('%s', (_, page, next) => {
  expect(earlyCursor(JSON.stringify(page))).toBe(next);
});

test('early cursor: for any text the guess is a position or null, and for a valid page never a wrong one', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const next = earlyCursor(text);
      expect(next === null || next.length > 0).toBe(true);
    }),
  );
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.boolean(), fc.string({ minLength: 1 }), (data, more, next) => {
      const text = JSON.stringify({ data, meta: meta(more, next) });
      const guess = earlyCursor(text);
      if (guess !== null) expect(guess).toBe(parsePage(JSON.parse(text), text).next);
      expect(guess !== null).toBe(more);
    }),
  );
});
