import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { mistakeIn } from '../../src/store/mistake.js';
import { runQuery } from '../../src/store/reads/query.js';
import { databases } from './support/databases.js';

test.each([
  [
    'SELECT comitted_cents FROM investments',
    'no such column: comitted_cents',
    7,
    'Did you mean committed_cents?',
  ],
  ['SELECT i.stauts FROM investments i', 'no such column: i.stauts', 9, 'Did you mean status?'],
  ['SELECT email FROM investments', 'no such column: email', 7, 'email is a column of'],
  ['SELECT * FROM investment', 'no such table: investment', 14, 'Did you mean investments?'],
  ["SELECT 'stauts', -- stauts\n stauts FROM ticks", 'no such column: stauts', 28, null],
  ['SELECT * FROM investments', 'relation "investments" does not exist', 14, '`rosterd sync` makes one'],
  ['SELECT t.id FROM ticks t, roster r', 'no such column: t.id', 9, 'id is a column of'],
  ['SELECT * FROM "Investment"', 'relation "Investment" does not exist', 15, 'Did you mean investments?'],
])(
  'a name that does not exist is found in its statement, with the nearest one: %s',
  (sql, complaint, from, meant) => {
    const { place, suggestion } = mistakeIn(sql, complaint);
    expect(place?.from).toBe(from);
    if (meant !== null) expect(suggestion).toContain(meant);
  },
);

test('a name that resembles no other has no suggestion', () => {
  expect(mistakeIn('SELECT zzqqxxyyww FROM ticks', 'no such column: zzqqxxyyww').suggestion).toBeNull();
});

describe.each(databases)('$database', ({ open }) => {
  test.each([
    [
      'no such column',
      ' -- first\nSELECT id, comitted_cents\nFROM investments',
      'comitted_cents',
      'committed_cents',
    ],
    ['no such table', 'SELECT *\nFROM investmens', 'investmens', 'investments'],
    ['a syntax error', 'SELECT id FROM investments\nWHERE id = = 1', '= 1', null],
    [
      'a name behind emojis',
      "SELECT '😀😀', comitted_cents FROM investments",
      'comitted_cents',
      'committed_cents',
    ],
    [
      'a word at the wrong place',
      'SELECT id FORM investments WHERE id IN (SELECT id FROM ticks)',
      'investments',
      null,
    ],
  ])('%s is reported with its place, while names are masked and not', async (_what, sql, wrong, meant) => {
    const { place } = await open();
    for (const identity of [true, false]) {
      const limits = { timeoutMs: 20_000, rowsMax: 10, identity };
      const error = await runQuery(place, sql, limits, systemClock, new AbortController().signal).catch(
        (error: unknown) => error,
      );
      expect(error).toMatchObject({ code: 'usage', about: { place: { from: sql.indexOf(wrong) } } });
      if (meant !== null) expect(error).toMatchObject({ about: { hint: `Did you mean ${meant}?` } });
    }
  });
});
