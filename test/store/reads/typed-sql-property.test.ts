import { expect, test } from 'vitest';
import { isFault } from '../../../src/domain/fault.js';
import { openSqlite } from '../../../src/store/dialect/sqlite/open.js';
import { prepareReading } from '../../../src/store/dialect/sqlite/reading-statement.js';
import fc from '../../support/property.js';
import { freshMirror, seedInvestment, seedSource } from '../support/mirror.js';

const words = [
  ...[
    'SELECT',
    'INSERT INTO',
    'UPDATE',
    'DELETE FROM',
    'DROP TABLE',
    'ATTACH',
    'VACUUM INTO',
    'PRAGMA',
    'WITH',
  ],
  ...[
    'investments',
    'investment_rows',
    'sources',
    '*',
    '(',
    ')',
    ',',
    ';',
    '--',
    '/*',
    "'",
    '"',
    '=',
    '1',
    'x',
  ],
  ...[
    'VALUES',
    'SET',
    'AS',
    'RETURNING',
    'FROM',
    'WHERE',
    'writable_schema',
    'user_version',
    "'/tmp/other.db'",
  ],
];
const sql = fc.oneof(
  fc.array(fc.constantFrom(...words), { maxLength: 9 }).map((all) => all.join(' ')),
  fc.constantFrom(
    'SELECT * FROM investments',
    'PRAGMA user_version',
    'VALUES (1)',
    'PRAGMA user_version = 7',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

test('any typed SQL either reads or is refused with a usage error, and changes nothing', () => {
  const written = freshMirror();
  seedSource(written, 1);
  seedInvestment(written, 1, 'inv_1');
  const reader = openSqlite(written.file, { readonly: true });
  const bytes = () => written.raw.serialize().toString('latin1');
  const before = bytes();
  let read = 0;
  let refused = 0;
  fc.assert(
    fc.property(sql, (typed) => {
      try {
        prepareReading(reader.raw, typed).all();
        read += 1;
      } catch (error) {
        if (!isFault(error, 'usage')) throw error;
        refused += 1;
      }
    }),
    { numRuns: 3_000 },
  );
  reader.close();
  expect(bytes() === before).toBe(true);
  expect(Math.min(read, refused)).toBeGreaterThan(100);
});
