import { expect, test } from 'vitest';
import { rosterBody } from '../../src/console/pages/roster.js';
import { addressFrom } from '../../src/console/pages/roster-address.js';

test.each([
  ['', undefined, 'No investments yet: the platform has none, or no first listing is complete.'],
  ['status=executed', undefined, 'No investment matches. Remove a filter to see more.'],
  ['search=key', 'lovelace', 'No investment matches. Remove a filter to see more.'],
])('an empty roster for %j and %j explains why', (query, text, says) => {
  const body = rosterBody({
    address: addressFrom(new URLSearchParams(query)),
    seen: { rows: [], count: 0, countMax: 10, choices: [], younger: [], completingNames: [] },
    csrf: 'c',
    identityUntil: text === undefined ? null : 1,
    mayShowNames: true,
    text,
    rowsMax: 50,
    asOf: null,
    now: Date.parse('2026-10-20T12:00:00.000Z'),
  });
  expect(body.text).toContain(says);
});

test.each([
  [[], null],
  [['acme'], 'Names are incomplete until acme has been listed again, which happens by itself.'],
  [['acme', 'beta', 'gamma'], 'Names are incomplete until acme and 2 other sources have been listed again'],
])('a roster says whose names are incomplete: %j', (completingNames, says) => {
  const { text } = rosterBody({
    address: addressFrom(new URLSearchParams()),
    seen: { rows: [], count: 0, countMax: 10, choices: [], younger: [], completingNames },
    csrf: 'c',
    identityUntil: 1,
    mayShowNames: true,
    text: undefined,
    rowsMax: 50,
    asOf: null,
    now: Date.parse('2026-10-20T12:00:00.000Z'),
  });
  if (says === null) expect(text).not.toContain('Names are incomplete');
  else expect(text).toContain(says);
});
