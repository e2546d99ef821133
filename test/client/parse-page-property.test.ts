import { expect, test } from 'vitest';
import { parsePage } from '../../src/client/parse-page.js';
import { isFault } from '../../src/domain/fault.js';
import fc from '../support/property.js';
import { deltaPage } from './fixtures.js';

const { data: known, meta: right } = deltaPage();
const anything = fc.jsonValue({ maxDepth: 2 });
const cursor = fc.constantFrom<unknown>('c_1', '', 0, -1, 1.5, 2 ** 53, null, {});
const moment = fc.constantFrom<unknown>('2026-10-20T09:32:05Z', 'soon', null, '', '275760-09-13', 1e21);
const meta = fc.oneof(
  fc.record(
    {
      mode: fc.constantFrom<unknown>('delta', 'bootstrap', 'Delta', 1),
      has_more: fc.oneof(fc.boolean(), anything),
      next_cursor: fc.oneof(cursor, anything),
      published_through: fc.oneof(moment, anything),
    },
    { requiredKeys: [] },
  ),
  fc.constant(right),
  anything,
);
const entry = fc.oneof(fc.constantFrom<unknown>(...known), anything, fc.constant({ id: 'inv_1' }));
const pages = fc.oneof(
  { weight: 4, arbitrary: fc.record({ data: fc.oneof(fc.array(entry), anything), meta }) },
  anything,
);

test('parse page: any input becomes a page with all its entries, or a contract_broken fault with a message', () => {
  let read = 0;
  let refused = 0;
  fc.assert(
    fc.property(pages, (sent) => {
      const text = JSON.stringify(sent);
      try {
        const page = parsePage(JSON.parse(text), text);
        expect(page.parse().items).toHaveLength((sent as { readonly data: readonly unknown[] }).data.length);
        expect(page.next).not.toBe('');
        read += 1;
      } catch (error) {
        if (!isFault(error, 'contract_broken')) throw error;
        refused += 1;
      }
    }),
    { numRuns: 2_000 },
  );
  expect(Math.min(read, refused)).toBeGreaterThan(100);
});
