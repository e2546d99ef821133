import { expect, test } from 'vitest';

// A script of the browser, without types.
const script: string = '../../src/console/assets/link-text.js';
const { withoutTexts } = (await import(script)) as {
  readonly withoutTexts: (statement: string) => { readonly text: string; readonly left: number };
};

test.each([
  "SELECT 1 FROM investments WHERE status = 'active' AND id = 'inv_9Qx-4'",
  "SELECT strftime('%Y-%m', applied_at), date(valid_to, '-7 days')",
  "SELECT to_char(day, 'YYYY-MM-DD') FROM daily_raised WHERE day >= '2026-03-31T10:00:00.000Z'",
  "SELECT date_trunc('week', day), ''",
])('a link keeps ids, dates and words of rosterd: %s', (statement) => {
  expect(withoutTexts(statement)).toEqual({ text: statement, left: 0 });
});

test.each([
  ["SELECT 'ada'", "SELECT '…'"],
  ["SELECT 'ada_lovelace'", "SELECT '…'"],
  ["SELECT 'co ada', 'x'", "SELECT '…', '…'"],
  ['SELECT "ada", $$ada$$, $q$ada $$ada$q$', "SELECT '…', '…', '…'"],
  ["SELECT '+41 79 123 45 67', '1815'", "SELECT '…', '1815'"],
  ["SELECT 'it''s ada', 'active'", "SELECT '…', 'active'"],
  [String.raw`SELECT E'it\'s ada', 'active', 'ada'`, "SELECT E'…'"],
  [String.raw`SELECT 'C:\', 'ada'`, "SELECT '…'"],
  ["SELECT id FROM roster WHERE name = 'ada", "SELECT id FROM roster WHERE name = '…'"],
  ['SELECT id FROM roster WHERE name = "ada', "SELECT id FROM roster WHERE name = '…'"],
  ['SELECT $q$ada', "SELECT '…'"],
  ['SELECT 1 /* ada', 'SELECT 1 '],
  ['SELECT 1 /* a /* b */ ada */', "SELECT 1 '…'"],
  ['SELECT 1 -- ada\nFROM sources', 'SELECT 1 \nFROM sources'],
])('a link leaves out what could be a name: %s', (statement, text) => {
  expect(withoutTexts(statement).text).toBe(text);
});
