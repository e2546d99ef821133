import { expect, test } from 'vitest';
import { JsonMistake, parseJsonText } from '../../src/config/json-text.js';
import fc from '../support/property.js';

test('reads whatever JSON.stringify writes, as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (text) => {
      expect(parseJsonText(text).value).toEqual(JSON.parse(text));
    }),
  );
});

test('refuses whatever JSON.parse refuses, always with a place', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:1a \n\\-.e') }), (text) => {
      let accepted = true;
      try {
        JSON.parse(text);
      } catch {
        accepted = false;
      }
      if (accepted) return parseJsonText(text) !== undefined;
      expect(() => parseJsonText(text)).toThrow(JsonMistake);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ['{"a": 1,\n "a": 2}', 2, 2, 'a is written twice'],
  ['{"a": tru}', 1, 7, 'expected a value; strings need double quotes'],
  ['{"a": "b\n"}', 1, 7, 'this string has no closing "'],
  ['{"a": 1 // one\n}', 1, 9, 'comments are not part of JSON'],
  ['{"a": [1, 2', 1, 7, 'this [ has no closing ]'],
  ['', 1, 1, 'expected a value, found the end of the file'],
  ["{'a': 1}", 1, 2, 'expected a key in "", found "\'"'],
])('%j fails at %i:%i', (text, line, column, message) => {
  expect(() => parseJsonText(text)).toThrow(expect.objectContaining({ message, place: { line, column } }));
});

test('nesting has a bound', () => {
  expect(() => parseJsonText('['.repeat(100_000))).toThrow(/nested deeper/);
});

test('a value knows its place', () => {
  const document = parseJsonText('{\n  "a": [\n    {"b": 1}\n  ]\n}');
  expect(document.placeOf(['a', 0, 'b'])).toEqual({ line: 3, column: 11 });
  expect(document.placeOf(['a', 1])).toBeUndefined();
});
