import { expect, test } from 'vitest';
import { parseInstant } from '../../src/domain/instant.js';
import fc from '../support/property.js';

test('instant: the plain form is read like any other notation of the same time', () => {
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

test('instant: text order is time order for every precision and time zone', () => {
  const written = fc
    .tuple(
      fc.integer({ min: 0, max: 5_000_000 }),
      fc.integer({ min: 0, max: 9 }),
      fc.constantFrom('Z', '+00:00', '+02:00', '-09:30'),
    )
    .map(([micros, digits, zone]) => {
      const fraction = String(micros % 1_000_000)
        .padStart(6, '0')
        .padEnd(9, '0')
        .slice(0, digits);
      const shown = Math.floor(micros / 1_000_000) * 1_000_000 + Number(fraction.padEnd(6, '0').slice(0, 6));
      const second = String(Math.floor(micros / 1_000_000)).padStart(2, '0');
      const [hour, minute] =
        { Z: [9, 0], '+00:00': [9, 0], '+02:00': [11, 0], '-09:30': [23, 30] }[zone] ?? [];
      const day = zone === '-09:30' ? 19 : 20;
      const clock = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:${second}`;
      return {
        micros: shown,
        text: `2026-10-${day}T${clock}${fraction === '' ? '' : `.${fraction}`}${zone}`,
      };
    });
  fc.assert(
    fc.property(written, written, (one, other) => {
      const [a, b] = [parseInstant(one.text), parseInstant(other.text)];
      if (a === undefined || b === undefined) throw new Error(`${one.text} or ${other.text} was not read`);
      expect([a.length, b.length]).toEqual([24, 24]);
      const order = Math.sign(Math.floor(one.micros / 1000) - Math.floor(other.micros / 1000));
      expect(a < b ? -1 : Number(a > b)).toBe(order);
    }),
    { numRuns: 1000 },
  );
});

test('instant: fractions beyond milliseconds are truncated, so no time is read as a later one', () => {
  expect(parseInstant('2026-10-20T09:30:04.000999Z')).toBe('2026-10-20T09:30:04.000Z');
  expect(parseInstant('2026-10-20T09:30:59.999999999Z')).toBe('2026-10-20T09:30:59.999Z');
});

test.each([
  '2026-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-00-10T00:00:00Z',
  '2026-01-00T00:00:00Z',
  '2026-01-01T25:00:00Z',
  '2026-01-01T00:60:00Z',
])('instant: %s is not a time', (text) => {
  expect(parseInstant(text)).toBeUndefined();
});
