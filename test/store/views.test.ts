import { describe, expect } from 'vitest';
import { test } from './both-databases.js';
import { freshStore, rowsOf, type Store } from './mirror-fixture.js';
import { recordDefaults } from './support/mirror.js';
import { numbersIn, seedIdentity, seedInvestment, seedRow, seedSource } from './support/seeds.js';

const ids = async (store: Store, view: string) =>
  ((await rowsOf(store, `SELECT id FROM ${view}`)) as { id: string }[]).map(({ id }) => id);

describe('views during a listing', () => {
  test('rows of an unfinished first listing appear only in incoming', async () => {
    const store = await freshStore();
    await seedSource(store, 1, { state: 'listing', listed_at: null, listed_seq: null });
    const row = await seedInvestment(store, 1, 'inv_a');
    await seedIdentity(store, row, { name: 'Ada' });
    expect(await ids(store, 'incoming')).toEqual(['inv_a']);
    for (const view of ['investments', 'identities', 'roster']) expect(await ids(store, view)).toEqual([]);
    for (const view of ['round_totals', 'daily_raised', 'investor_totals'])
      expect(await rowsOf(store, `SELECT * FROM ${view}`)).toEqual([]);
  });

  test('incoming shows the staged rows of a re-listing and the stored rows its pages named, each once', async () => {
    const store = await freshStore();
    await seedSource(store, 1, { state: 'relisting' });
    const same = await seedInvestment(store, 1, 'inv_same');
    const changed = await seedInvestment(store, 1, 'inv_changed');
    await seedInvestment(store, 1, 'inv_unnamed');
    await seedRow(store, 'staged_rows', {
      ...recordDefaults,
      source_no: 1,
      id: 'inv_changed',
      row_no: changed,
      committed_cents: 5,
      extra: '{"a":1}',
    });
    await seedRow(store, 'staged_pages', { source_no: 1, page: 1, seen: numbersIn(store, [same, changed]) });
    await seedRow(store, 'staged_pages', { source_no: 1, page: 2, seen: numbersIn(store, [same]) });
    expect(
      await rowsOf(store, 'SELECT id, committed_cents, visible, blockers, extra FROM incoming ORDER BY id'),
    ).toEqual([
      { id: 'inv_changed', committed_cents: 5, visible: 1, blockers: '[]', extra: '{"a":1}' },
      { id: 'inv_same', committed_cents: 100_000, visible: 1, blockers: '[]', extra: null },
    ]);
    expect(await ids(store, 'investments')).toHaveLength(3);
  });
});

describe('totals', () => {
  test('totals keep currencies apart and count rows without an amount', async () => {
    const store = await freshStore();
    await seedSource(store, 1);
    await seedInvestment(store, 1, 'inv_a', { in_escrow_cents: 7 });
    await seedInvestment(store, 1, 'inv_b', { raised_cents: null, in_escrow_cents: null });
    await seedInvestment(store, 1, 'inv_c', { currency: 'eur', raised_cents: 3, committed_cents: 4 });
    expect(await rowsOf(store, 'SELECT * FROM round_totals ORDER BY currency')).toEqual([
      {
        source: 'source1',
        company_id: 'co_1',
        offering_id: 'ofr_1',
        status: 'active',
        currency: 'eur',
        investments: 1,
        committed_cents: 4,
        in_escrow_cents: 0,
        raised_cents: 3,
        exact_cents: null,
        company_name: null,
        round_name: null,
      },
      {
        source: 'source1',
        company_id: 'co_1',
        offering_id: 'ofr_1',
        status: 'active',
        currency: 'usd',
        investments: 2,
        committed_cents: 200_000,
        in_escrow_cents: 7,
        raised_cents: 100_000,
        exact_cents: null,
        company_name: null,
        round_name: null,
      },
    ]);
  });

  test('daily totals use the UTC day of applied_at; investor totals are per source', async () => {
    const store = await freshStore();
    await seedSource(store, 1);
    await seedSource(store, 2);
    await seedInvestment(store, 1, 'inv_a', { applied_at: '2026-10-10T23:59:59.999Z' });
    await seedInvestment(store, 1, 'inv_b', { applied_at: '2026-10-11T00:00:00.000Z' });
    await seedInvestment(store, 2, 'inv_a', { applied_at: '2026-10-12T00:00:00.000Z' });
    expect(
      await rowsOf(store, 'SELECT source, day, raised_cents FROM daily_raised ORDER BY source, day'),
    ).toEqual([
      { source: 'source1', day: '2026-10-10', raised_cents: 100_000 },
      { source: 'source1', day: '2026-10-11', raised_cents: 100_000 },
      { source: 'source2', day: '2026-10-12', raised_cents: 100_000 },
    ]);
    expect(
      await rowsOf(
        store,
        'SELECT source, investments, raised_cents, first_applied_at FROM investor_totals ORDER BY source',
      ),
    ).toEqual([
      {
        source: 'source1',
        investments: 2,
        raised_cents: 200_000,
        first_applied_at: '2026-10-10T23:59:59.999Z',
      },
      {
        source: 'source2',
        investments: 1,
        raised_cents: 100_000,
        first_applied_at: '2026-10-12T00:00:00.000Z',
      },
    ]);
  });

  test('totals beyond 2^53 stay exact', async () => {
    const store = await freshStore();
    await seedSource(store, 1);
    for (const id of ['a', 'b', 'c'])
      await seedInvestment(store, 1, id, { raised_cents: Number.MAX_SAFE_INTEGER });
    expect(await rowsOf(store, 'SELECT CAST(raised_cents AS text) AS total FROM round_totals')).toEqual([
      { total: String(BigInt(Number.MAX_SAFE_INTEGER) * 3n) },
    ]);
  });
});

describe('sync_status', () => {
  const status = async (set: Record<string, string | null>) => {
    const store = await freshStore();
    await seedSource(store, 1, set);
    const [row] = await rowsOf(store, 'SELECT * FROM sync_status');
    return row as { meaning: string; readable: number; cursor_expires_at: string };
  };

  test('sync_status never shows a failed attempt as healthy', async () => {
    expect((await status({ last_outcome: 'done' })).meaning).toBe('following the feed');
    expect((await status({ last_outcome: 'failed' })).meaning).toContain('behind');
    expect((await status({ state: 'halted', halted_from: 'following' })).meaning).toContain(
      'a person has to help',
    );
  });

  test('sync_status shows when the cursor expires', async () => {
    expect((await status({})).cursor_expires_at).toBe('2027-01-18T11:59:00.000Z');
  });

  test('sync_status shows a source as not readable during its first listing', async () => {
    expect((await status({ state: 'listing', listed_at: null })).readable).toBe(0);
  });
});
