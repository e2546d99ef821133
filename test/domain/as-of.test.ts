import { expect, test } from 'vitest';
import { pastTime } from '../../src/domain/as-of.js';

const now = Date.parse('2026-11-29T12:00:00.000Z');

test.each([
  ['2026-03-31', '2026-03-31T23:59:59.999Z'],
  ['2026-03-31T17:00:00Z', '2026-03-31T17:00:00.000Z'],
  ['2026-03-31T17:00Z', '2026-03-31T17:00:00.000Z'],
  ['2026-03-31 17:00+02:00', '2026-03-31T15:00:00.000Z'],
  ['2026-03-31T17:00-0530', '2026-03-31T22:30:00.000Z'],
  ['2026-11-29', '9999-12-31T23:59:59.999Z'],
])('a mirror as of %s is read at %s', (text, time) => {
  expect(pastTime(text, '--as-of', now)).toBe(time);
});

test.each(['', '2026-03-31T17:00', '2026-03-31T17Z', '2026-03-31T25:00Z', '2026-02-30T17:00Z', '17:00Z'])(
  '"%s" is refused as a time to read the mirror at',
  (text) => {
    expect(() => pastTime(text, '--as-of', now)).toThrow(`--as-of is ${JSON.stringify(text)}`);
  },
);

test('a minute that is still to come is refused', () => {
  expect(() => pastTime('2026-11-29T12:01Z', '--as-of', now)).toThrow('is in the future');
});
