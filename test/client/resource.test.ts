import { expect, test } from 'vitest';
import {
  fieldsOf,
  listOf,
  resourceOf,
  sameAs,
  textIn,
  textOrNullIn,
  textsIn,
} from '../../src/client/resource.js';

test.each([undefined, null, 7, 'text', ['a']])(
  'resource: %j has no fields, and is neither a resource nor a list of them',
  (value) => {
    expect(fieldsOf(value)).toEqual({});
    expect(() => resourceOf(value, 'company')).toThrow('a response with a company has no usable `id`');
    expect(() => listOf(value, 'installation')).toThrow(
      'a response with an installation has no usable `data`',
    );
    expect(() => listOf({ data: value === undefined ? {} : fieldsOf(value) }, 'company')).toThrow(
      'no usable `data`',
    );
  },
);

test('resource: it has an id of text, and no attributes where the platform sends none', () => {
  expect(resourceOf({ id: 'co_1', attributes: null }, 'company')).toEqual({ id: 'co_1', attributes: {} });
  for (const id of [undefined, null, 7, ''])
    expect(() => resourceOf({ id, attributes: {} }, 'company')).toThrow('no usable `id`');
});

test('resource: a field of the wrong type is one that is not there', () => {
  const fields = { text: 'a', number: 7, texts: ['a', 7, 'b'] };
  expect(['text', 'number', 'none'].map((name) => textIn(fields, name))).toEqual(['a', '', '']);
  expect(['text', 'number', 'none'].map((name) => textOrNullIn(fields, name))).toEqual(['a', null, null]);
  expect(['texts', 'text', 'none'].map((name) => textsIn(fields, name))).toEqual([['a', 'b'], [], []]);
});

test('resource: one that was not requested is refused', () => {
  expect(sameAs('co_1', { id: 'co_1' }, 'company')).toEqual({ id: 'co_1' });
  expect(() => sameAs('co_1', { id: 'co_2' }, 'company')).toThrow('no usable `id`');
});
