import { expect, test } from 'vitest';
import { changesTable } from '../../src/console/pages/changes-table.js';
import { comparison } from '../../src/console/pages/company-figures.js';
import { changeWords } from '../../src/console/parts/change-words.js';
import { columnLabel } from '../../src/console/parts/columns.js';
import type { ChangeSeen } from '../../src/console/ports/overview.js';

const change: ChangeSeen = {
  seq: 1,
  at: '2026-10-20T12:00:00.000Z',
  source: 'acme',
  kind: 'changed',
  id: 'inv_1',
  fields: [],
  before: null,
  after: null,
  company_id: 'co_1',
  company_name: 'Copper Labs',
  offering_id: null,
  round_name: null,
  names: {},
  currency: 'usd',
  title: null,
};
const words = (over: Partial<ChangeSeen>) =>
  changeWords({ ...change, ...over })
    .text.replaceAll(/<span class="becomes"[^>]*><\/span>/g, '→')
    .replaceAll(/<[^>]*>/g, '');

test.each<[Partial<ChangeSeen>, string]>([
  [{ kind: 'snapshot' }, 'First listing complete'],
  [
    { kind: 'added', after: { committed_cents: 50_000, status: 'needs_whitelisting' } },
    'New investment: $500.00 committed, needs whitelisting',
  ],
  [{ kind: 'added' }, 'New investment'],
  [{ kind: 'removed', before: { committed_cents: null, status: 'active' } }, 'Withdrawn: active'],
  [
    {
      fields: ['status', 'raised_cents'],
      before: { status: 'reserved', raised_cents: 0 },
      after: { status: 'active', raised_cents: 100_000 },
    },
    'Status: reserved → active · Raised: $0.00 → $1,000.00',
  ],
  [
    {
      fields: ['currency', 'raised_cents'],
      before: { currency: 'eur', raised_cents: 50_000 },
      after: { currency: 'usd', raised_cents: 60_000 },
    },
    'Currency: eur → usd · Raised: €500.00 → $600.00',
  ],
  [{ fields: ['status'] }, 'Status'],
  [{ fields: ['visible'], before: { visible: 1 }, after: { visible: 0 } }, 'Visible: yes → no'],
  [{ fields: ['contracts'], before: { contracts: [] }, after: { contracts: [{}] } }, 'Contracts'],
  [{ fields: ['identity.name', 'identity.email'] }, 'Personal data'],
  [{ fields: ['a', 'b', 'c', 'd'] }, 'A · B · C · 1 more column'],
  [{ fields: ['a', 'b', 'c', 'd', 'e', 'identity.city'] }, 'A · B · C · 2 more columns · Personal data'],
  [
    {
      kind: 'round_changed',
      fields: ['closes_at', 'status'],
      before: { closes_at: null, status: 'open' },
      after: { closes_at: '2026-12-01T00:00:00.000Z', status: 'closed' },
    },
    'Closes: none → 2026-12-01 00:00:00 UTC · Status: open → closed',
  ],
  [
    {
      kind: 'company_changed',
      fields: ['current_round_id'],
      before: { current_round_id: 'ofr_1' },
      after: { current_round_id: 'ofr_2' },
      names: { ofr_1: 'Reg CF SAFE 2025' },
    },
    'Current round: Reg CF SAFE 2025 → ofr_2',
  ],
  [{ kind: 'company_added' }, 'New company'],
  [{ kind: 'round_removed' }, 'Round no longer listed'],
  [{ kind: 'update_added', title: 'We moved' }, 'New post: “We moved”'],
  [{ kind: 'update_removed' }, 'Post removed'],
])('the change %j is said in words', (over, said) => {
  expect(words(over)).toBe(said);
});

test('a time in a change is shown in the zone of the reader, with UTC in the title', () => {
  const values = { before: { closes_at: null }, after: { closes_at: '2026-12-01T00:00:00.000Z' } };
  expect(changeWords({ ...change, kind: 'round_changed', fields: ['closes_at'], ...values }).text).toContain(
    '<time datetime="2026-12-01T00:00:00.000Z" title="2026-12-01 00:00:00 UTC" data-form="zoned">',
  );
});

test('the changes of an investment have the ids of its round and company small beside their names', () => {
  const seen = { ...change, kind: 'added', offering_id: 'ofr_1', round_name: 'Seed' };
  const page = changesTable('Latest changes', [seen], 0, '').text;
  expect(page).toMatch(/<span class="named">Seed<span class="id" data-id="ofr_1">/);
  expect(page).toMatch(
    /<span class="named"><a href="[^"]+">Copper Labs<\/a><span class="id" data-id="co_1">/,
  );
  // Where the change is of the round itself, its id stands once.
  const ofRound = changesTable('Latest changes', [{ ...seen, kind: 'round_added', id: 'ofr_1' }], 0, '').text;
  expect(ofRound.match(/data-id="ofr_1"/g)).toHaveLength(1);
});

test.each([
  [120, 100, '+20 %'],
  [80, 100, '−20 %'],
  [100, 100, 'same'],
  [0, 0, 'same'],
  [5, 0, 'new'],
  [0, 100, '−100 %'],
  [100_001, 100_000, '±0 %'],
  [2_345_600, 100, '+2,345,500 %'],
])('%d after %d is a change of %s', (now, before, said) => {
  expect(comparison(now, before)).toBe(said);
});

test.each([
  ['committed_cents', 'Committed'],
  ['offering_id', 'Round'],
  ['needs_whitelisting', 'Needs whitelisting'],
  ['identity.postal_code', 'Postal code (personal)'],
])('the column %s is called %s', (name, label) => {
  expect(columnLabel(name)).toBe(label);
});
