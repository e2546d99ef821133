import { expect, test } from 'vitest';
import { JsonMistake, parseJsonText } from '../../src/config/json-text.js';
import fc from '../support/property.js';

test('the parser reads the output of JSON.stringify as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (text) => {
      expect(parseJsonText(text).value).toEqual(JSON.parse(text));
    }),
  );
});

test('the parser rejects whatever JSON.parse rejects, always with a position', () => {
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
  ["{'a': 1}", 1, 2, 'expected a key in double quotes, found "\'"'],
])('parsing %j fails at %i:%i', (text, line, column, message) => {
  expect(() => parseJsonText(text)).toThrow(expect.objectContaining({ message, place: { line, column } }));
});

test('the parser limits the nesting depth', () => {
  expect(() => parseJsonText('['.repeat(100_000))).toThrow(/nested deeper/);
});

test('the parser returns the position of a value', () => {
  const document = parseJsonText('{\n  "a": [\n    {"b": 1}\n  ]\n}');
  expect(document.placeOf(['a', 0, 'b'])).toEqual({ line: 3, column: 11 });
  expect(document.placeOf(['a', 1])).toBeUndefined();
});
