import { expect, test } from 'vitest';
import { citations, crowdedTitles, readRules } from '../tools/rule-ledger.js';

const rules = readRules();

test('every rule id that a test cites exists in the ledger', () => {
  const known = new Set(rules.map(({ id }) => id));
  const strangers = [...citations(rules)].filter(([id]) => !known.has(id));
  expect(strangers).toEqual([]);
});

test('the ledger lists each rule once, in the order of its section', () => {
  expect(rules.length).toBeGreaterThanOrEqual(502);
  expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
  for (const section of new Set(rules.map((rule) => rule.section))) {
    const numbers = rules
      .filter((rule) => rule.section === section)
      .map(({ id }) => Number(id.split('-')[1]));
    expect([section, numbers]).toEqual([section, numbers.map((_, index) => index + 1)]);
  }
});

test('no title of a test cites more than three rules', () => {
  expect(crowdedTitles(rules, 3)).toEqual([]);
});

test('every rule of the platform is cited outside the long tests, which `npm test` leaves out', () => {
  const cited = citations(rules);
  const isTested = (id: string) => (cited.get(id) ?? []).some((path) => !path.endsWith('.long.test.ts'));
  expect(rules.filter(({ id }) => !isTested(id)).map(({ id }) => id)).toEqual([]);
});

test('every open rule has a decision', () => {
  expect(rules.filter(({ open, decision }) => open && decision === null).map(({ id }) => id)).toEqual([]);
});
