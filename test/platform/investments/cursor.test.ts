import { expect, test } from 'vitest';
import { type Cursor, readCursor, writeCursor } from '../../../src/platform/investments/cursor.js';
import fc from '../../support/property.js';

const key = Buffer.alloc(32, 7);
const number = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const cursors: fc.Arbitrary<Cursor> = fc.oneof(
  fc.record({ kind: fc.constant('feed' as const), seq: number, through: number }),
  fc.record({ kind: fc.constant('listing' as const), after: number, seq: number, through: number }),
);

test('a cursor decodes to the written position only with its own subject and key', () => {
  fc.assert(
    fc.property(cursors, fc.string(), (cursor, subject) => {
      const text = writeCursor(key, subject, cursor);
      expect(readCursor(key, subject, text)).toEqual(cursor);
      expect(readCursor(key, `${subject}x`, text)).toBeUndefined();
      expect(readCursor(Buffer.alloc(32, 8), subject, text)).toBeUndefined();
    }),
  );
});

test('a cursor with any changed character is invalid', () => {
  const text = writeCursor(key, 'test:company:1', { kind: 'feed', seq: 12_345, through: 1_790_000_000_000 });
  for (let index = 0; index < text.length; index += 1) {
    for (const letter of ['A', 'z', '-', '.']) {
      if (text[index] === letter) continue;
      const changed = `${text.slice(0, index)}${letter}${text.slice(index + 1)}`;
      expect(readCursor(key, 'test:company:1', changed)).toBeUndefined();
    }
  }
});
