import { expect, test } from 'vitest';
import {
  type BodyLimits,
  BoundedBody,
  installationsAnswer,
  pageAnswer,
  smallAnswer,
} from '../../../src/client/fetch/body-limits.js';
import fc from '../../support/property.js';

const roomy: BodyLimits = { bytesMax: 4_000_000, partsMax: 4_000_000 };

/** Adds a text in chunks of so many bytes. Returns the first limit that it exceeds. */
function excessOf(
  text: string,
  limits: Partial<BodyLimits>,
  chunkBytes = Number.POSITIVE_INFINITY,
): string | null {
  const body = new BoundedBody({ ...roomy, ...limits });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const excess = body.add(bytes.subarray(at, Math.min(at + chunkBytes, bytes.length)));
    if (excess !== null) return excess;
  }
  expect(body.toString()).toBe(text);
  return null;
}

test.each([
  ['a small answer', smallAnswer, 1024 * 1024, 100_000],
  ['a page of 25 records', pageAnswer(25), 100 * 40 * 1024, 100 * 1_500],
  ['a page of 100 records', pageAnswer(100), 100 * 40 * 1024, 100 * 1_500],
  ['a page of 250 records', pageAnswer(250), 250 * 40 * 1024, 250 * 1_500],
  ['a list of installations', installationsAnswer, 16 * 1024 * 1024, 1_000_000],
])('body limits: %s may have so many bytes and values', (_, limits, bytesMax, partsMax) => {
  expect(limits).toEqual({ bytesMax, partsMax });
});

test.each([1, 7, 4_000, 100_000])(
  'body limits: a body in chunks of %i bytes has its limit, and not one byte more',
  (chunk) => {
    const text = 'ü'.repeat(50_000);
    expect(excessOf(text, { bytesMax: 100_000 }, chunk)).toBeNull();
    expect(excessOf(text, { bytesMax: 99_999 }, chunk)).toBe('more than 99999 bytes');
  },
);

test('body limits: the values of a body of up to 256 KB are not counted', () => {
  expect(excessOf('['.repeat(256 * 1024), { partsMax: 10 })).toBeNull();
  expect(excessOf('['.repeat(256 * 1024 + 1), { partsMax: 10 })).toBe(
    'more than 10 values, more than any valid response needs',
  );
});

test('body limits: commas, colons and opening brackets count, except in strings, however the body is cut', () => {
  const padding = '\\",:[{'.repeat(40_000);
  const text = fc.string({ unit: fc.constantFrom('a', ',', ':', '[', '{', '"', '\\', '\\"', 'ü') });
  const part = fc.oneof(
    text,
    fc.array(text),
    fc.dictionary(text, fc.array(fc.integer())),
    fc.constant({ '': [{}] }),
  );
  fc.assert(
    fc.property(fc.array(part), fc.constantFrom(1_000, 65_537, 300_000), (parts, chunk) => {
      const body = JSON.stringify([padding, parts, padding, parts]);
      const outside = JSON.stringify([padding, parts, padding, parts]).replaceAll(/"(?:[^"\\]|\\.)*"/g, '');
      const partsMax = outside.match(/[,:[{]/g)?.length ?? 0;
      expect(excessOf(body, { partsMax }, chunk)).toBeNull();
      expect(excessOf(body, { partsMax: partsMax - 1 }, chunk)).toContain(`more than ${partsMax - 1} values`);
    }),
    { numRuns: 30 },
  );
});
