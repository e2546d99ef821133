import { expect, test } from 'vitest';
import { lookup } from '../../src/domain/lookup.js';

test('a lookup holds what it was given and nothing that objects have by nature', () => {
  const table = lookup({ known: 1 });
  expect(table.known).toBe(1);
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    expect([name, table[name], name in table]).toEqual([name, undefined, false]);
  }
});
