import { expect, test } from 'vitest';
import { rawItems } from '../../src/client/raw-items.js';
import fc from '../support/property.js';

test('raw items: for any page the pieces are the entries of `data`', () => {
  const indent = fc.constantFrom(undefined, 1, '\t');
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      fc.jsonValue(),
      fc.boolean(),
      indent,
      (data, other, isFirst, space) => {
        const page = isFirst
          ? { data, meta: other, x: [other] }
          : { x: [other, { data: [other] }], meta: other, data };
        const pieces = rawItems(JSON.stringify(page, null, space));
        expect(pieces.map((piece) => JSON.parse(piece))).toEqual(JSON.parse(JSON.stringify(data)));
      },
    ),
    { numRuns: 2000 },
  );
});

test.each([
  ['{"data":[]}', []],
  ['{"data":[1,2],"data":["a]","\\\\\\"}"]}', ['"a]"', '"\\\\\\"}"']],
  ['{"d\\u0061ta":[null , true]}', ['null', 'true']],
  ['{"data":[1],"d\\u0062ta":[2]}', ['1']],
  ['{"meta":{"data":[1]},"data":[[1,[2]],{"data":[3]}]}', ['[1,[2]]', '{"data":[3]}']],
  ['{"data":{"data":[1]}}', []],
  ['[{"data":[1]}]', []],
  ['"data"', []],
])('raw items: the entries of %s', (text, pieces) => {
  expect(() => JSON.parse(text)).not.toThrow();
  expect(rawItems(text)).toEqual(pieces);
});
