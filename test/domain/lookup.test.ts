import { expect, test } from 'vitest';
import { lookup } from '../../src/domain/lookup.js';

test('lookup: a table contains its entries and no properties of Object.prototype', () => {
  const table = lookup({ known: 1 });
  expect(table.known).toBe(1);
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    expect([name, table[name], name in table]).toEqual([name, undefined, false]);
  }
});
