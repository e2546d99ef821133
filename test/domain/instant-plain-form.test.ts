import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseInstant } from '../../src/domain/instant.js';

test('the plain form reads the same as any other way to write that moment', () => {
  const date = fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-30T00:00:00Z'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(date, (moment) => {
      const plain = moment.toISOString();
      expect(parseInstant(plain)).toBe(plain);
      expect(parseInstant(plain.replace('Z', '+00:00'))).toBe(plain);
      const second = `${plain.slice(0, 19)}.000Z`;
      expect(parseInstant(`${plain.slice(0, 19)}Z`)).toBe(second);
      expect(parseInstant(`${plain.slice(0, 19)}-00:00`)).toBe(second);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  '2026-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-00-10T00:00:00Z',
  '2026-01-00T00:00:00Z',
  '2026-01-01T25:00:00Z',
  '2026-01-01T00:60:00Z',
])('%s is no moment', (text) => {
  expect(parseInstant(text)).toBeUndefined();
});
