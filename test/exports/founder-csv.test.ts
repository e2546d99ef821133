import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { founderAmount, founderCsv, founderCsvName, truncatedShares } from '../../src/exports/founder-csv.js';
import type { Cell } from '../../src/exports/ports.js';
import { rowSource, whole } from './rows.js';

const plain = {
  id: 'inv_1',
  group_label: 'PENDING',
  investment_type: 'SAFE',
  offering_type: 'Reg CF',
  applied_at: '2026-10-18T14:05:22.000Z',
  committed_cents: 100_000,
  in_escrow_cents: null,
  shares: null,
  average_share_price: null,
  needs_whitelisting: 0,
  via_entity: 0,
  blockers: '[]',
  contracts: '[]',
  name: 'Ada',
  legal_name: null,
  email: 'ada@example.org',
  email_hidden: 0,
  address_line: null,
  city: null,
  state: null,
  postal_code: null,
  country: null,
  bio: null,
  message: null,
  external_username: null,
} satisfies Record<string, Cell>;

const full = {
  ...plain,
  id: 'inv_2',
  group_label: 'IS READY',
  investment_type: 'Equity',
  committed_cents: 250_025,
  in_escrow_cents: 250_050,
  shares: '738.569',
  average_share_price: '3.3844',
  needs_whitelisting: 1,
  via_entity: 1,
  name: 'Mara Lindqvist',
  legal_name: 'Lindqvist "Holdings", LLC',
  email: 'mara@example.org',
  email_hidden: 1,
  address_line: '12 Harbour Row, Unit 3',
  city: 'Portland',
  state: 'ME',
  postal_code: '04101',
  country: 'United States',
  bio: 'Zoë\nsails',
  message: 'Glad to back the team.',
  external_username: 'mara',
  blockers:
    '[{"description":"A government id is missing","key":"needs_id"},{"description":null,"key":"other"}]',
  contracts:
    '[{"early_bird":true,"name":"Subscription Agreement","override_amount_cents":null},{"early_bird":false,"name":null,"override_amount_cents":12345}]',
} satisfies Record<string, Cell>;

function founderFile(records: readonly Record<string, Cell>[], raw = false) {
  const names = Object.keys(plain);
  const columns = names.map((name) => ({ name, kind: 'text' as const }));
  const rows = records.map((record) => names.map((name) => record[name] ?? null));
  return whole(founderCsv(rowSource(columns, rows), { raw }));
}

describe('the founder file', () => {
  test('the founder file equals the file of the platform byte for byte', async () => {
    const golden = readFileSync(new URL('./golden/founder.csv', import.meta.url));
    expect(Buffer.from(await founderFile([full, plain]))).toEqual(golden);
  });

  test('the founder file is named after the company', () => {
    expect(founderCsvName('acme-rockets')).toBe('manage_investments_acme-rockets.csv');
  });

  test('an investor without a legal name is listed by the display name', async () => {
    const [, , , row] = (await founderFile([plain])).split('\n');
    expect(row?.split(',').slice(0, 4)).toEqual(['inv_1', 'Ada', 'Ada', 'ada@example.org']);
  });

  test('text that looks like a formula is escaped, unless raw is set', async () => {
    const record = { ...plain, name: '=HYPERLINK(1)' };
    expect((await founderFile([record])).split('\n')[3]).toContain("inv_1,'=HYPERLINK(1),'=HYPERLINK(1),");
    expect((await founderFile([record], true)).split('\n')[3]).toContain(
      'inv_1,=HYPERLINK(1),=HYPERLINK(1),',
    );
  });

  test('an entry of a list without some of its keys leaves their columns empty', async () => {
    const record = { ...plain, blockers: '[{}]', contracts: '[{"name":"SAFE"},{}]' };
    const file = await founderFile([record]);
    expect(file.slice(file.indexOf('inv_1'))).toMatch(/,,,,"No\nNo","SAFE\n","\n"\n$/);
  });

  test.each([
    [100_000n, '1000.0'],
    [100_050n, '1000.5'],
    [100_025n, '1000.25'],
    [100_005n, '1000.05'],
    [0n, '0.0'],
    [7n, '0.07'],
    [-150n, '-1.5'],
    [900_719_925_474_099_312n, '9007199254740993.12'],
  ])('the founder file writes %d cents as %s', (cents, text) => {
    expect(founderAmount(cents)).toBe(text);
  });

  test.each([
    ['738.569', '738.56'],
    ['738.50', '738.5'],
    ['738.00', '738'],
    ['738', '738'],
    ['0.009', '0'],
    ['', ''],
  ])('the founder file writes %s shares as %s', (shares, text) => {
    expect(truncatedShares(shares)).toBe(text);
  });
});
