import { expect, test } from 'vitest';
import { parseSourceName } from '../../src/domain/ids.js';
import { freeName, sourceNameFor } from '../../src/installations/source-name.js';
import fc from '../support/property.js';

const acme = { id: 'inst_1aB', target: 'co_9xY', targetName: 'Acme Räder & Söhne GmbH' };
const free = () => false;

test.each([
  ['{slug}', acme, 'acme-rader-sohne-gmbh'],
  ['crm-{company}', acme, 'crm-co_9xy'],
  ['{installation}', acme, 'inst_1ab'],
  ['{slug}.{company}', acme, 'acme-rader-sohne-gmbh.co_9xy'],
  ['{slug}', { ...acme, targetName: 'Blåbær Øresund ApS' }, 'blabaer-oresund-aps'],
  ['{slug}', { ...acme, targetName: 'Łódź Œuvre, Große STRAẞE' }, 'lodz-oeuvre-grosse-strasse'],
  ['{slug}', { ...acme, targetName: '株式会社' }, 'co_9xy'],
  ['{slug}', { ...acme, targetName: '' }, 'co_9xy'],
  ['{slug}', { ...acme, targetName: '--- 42 ---' }, '42'],
  ['{slug}', { ...acme, targetName: '{company}' }, 'company'],
  ['{slug}', { ...acme, targetName: 'x'.repeat(90) }, 'x'.repeat(56)],
])('the template %s names the installation %o %s', (template, named, expected) => {
  expect(sourceNameFor(template, named, free)).toBe(expected);
});

test('a name that is taken gets the first free number, also at full length', () => {
  const taken = new Set<string>(['acme', 'acme-2']);
  const named = { ...acme, targetName: 'ACME' };
  expect(sourceNameFor('{slug}', named, (name) => taken.has(name))).toBe('acme-3');
  const long = { ...acme, targetName: 'y'.repeat(80) };
  expect(sourceNameFor('{slug}', long, (name) => name === 'y'.repeat(56))).toBe(`${'y'.repeat(56)}-2`);
  expect(freeName('z'.repeat(63), (name) => name === 'z'.repeat(63))).toBe(`${'z'.repeat(61)}-2`);
  // A template without a usable character.
  expect(sourceNameFor('…', acme, free)).toBe('co_9xy');
});

test('every name of a company gives a valid name of a source, and two companies never share one', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 90 }), { maxLength: 8 }), (companies) => {
      const taken = new Set<string>();
      for (const targetName of companies) {
        const name = sourceNameFor('{slug}', { ...acme, targetName }, (one) => taken.has(one));
        expect(parseSourceName(name)).toBe(name);
        expect(taken.has(name)).toBe(false);
        taken.add(name);
      }
    }),
  );
});
