import { expect, test } from 'vitest';
import { recordBody } from '../../src/console/pages/record.js';

const version = (cells: Readonly<Record<string, string | number>>, until: string | null) => ({
  valid_from: '2026-10-01T00:00:00.000Z',
  valid_to: until,
  ended_by: until === null ? null : 'update',
  cells: { status: 'active', ...cells },
});

function textOf(versions: readonly ReturnType<typeof version>[]): string {
  const page = recordBody({
    source: 'acme',
    id: 'inv_1',
    seen: { versions, changes: [], person: null },
    csrf: '',
    identityUntil: null,
    mayShowNames: false,
    now: Date.parse('2026-10-03T00:00:00.000Z'),
  });
  return page.text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

test('the page of a record shows each version in its own currency', () => {
  const text = textOf([
    version({ currency: 'usd', committed_cents: 60_000 }, null),
    version({ currency: 'eur', committed_cents: 50_000 }, '2026-10-02T00:00:00.000Z'),
  ]);
  expect(text).toContain('Committed €500.00 $600.00');
});

test('the page of a record names the rounds between which an investment moved', () => {
  const text = textOf([
    version({ offering_id: 'ofr_2', round_name: 'Reg CF SAFE 2026' }, null),
    version({ offering_id: 'ofr_1', round_name: 'Reservations 2025' }, '2026-10-02T00:00:00.000Z'),
  ]);
  expect(text).toContain('Round Reservations 2025 ofr_1 Reg CF SAFE 2026 ofr_2');
});

test('the page of a record shows each cent of an amount near 90 trillion', () => {
  const text = textOf([version({ currency: 'usd', committed_cents: 8_999_999_999_999_999 }, null)]);
  expect(text).toContain('Committed $89,999,999,999,999.99');
});
