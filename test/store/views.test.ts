import { describe, expect, test } from 'vitest';
import {
  freshMirror,
  recordDefaults,
  seedIdentity,
  seedInvestment,
  seedRow,
  seedSource,
} from './support/mirror.js';

describe('what a reader sees while a listing is under way', () => {
  test('the rows of a first listing stand in incoming and nowhere else', () => {
    const mirror = freshMirror();
    seedSource(mirror, 1, { state: 'listing', listed_at: null, listed_seq: null });
    const row = seedInvestment(mirror, 1, 'inv_a');
    seedIdentity(mirror, row, { name: 'Ada' });
    const ids = (view: string) => mirror.raw.prepare(`SELECT id FROM ${view}`).pluck().all();
    expect(ids('incoming')).toEqual(['inv_a']);
    for (const view of ['investments', 'identities', 'roster']) expect(ids(view)).toEqual([]);
    for (const view of ['round_totals', 'daily_raised', 'investor_totals'])
      expect(mirror.raw.prepare(`SELECT * FROM ${view}`).all()).toEqual([]);
  });

  test('a re-listing shows staged rows and the held rows its pages named, each once', () => {
    const mirror = freshMirror();
    seedSource(mirror, 1, { state: 'relisting' });
    const same = seedInvestment(mirror, 1, 'inv_same');
    const changed = seedInvestment(mirror, 1, 'inv_changed');
    seedInvestment(mirror, 1, 'inv_unnamed');
    seedRow(mirror, 'staged_rows', {
      ...recordDefaults,
      ...{ source_no: 1, id: 'inv_changed', row_no: changed, committed_cents: 5, extra: '{"a":1}' },
    });
    seedRow(mirror, 'staged_pages', { source_no: 1, page: 1, seen: JSON.stringify([same, changed]) });
    seedRow(mirror, 'staged_pages', { source_no: 1, page: 2, seen: JSON.stringify([same]) });
    expect(
      mirror.raw
        .prepare('SELECT id, committed_cents, visible, blockers, extra FROM incoming ORDER BY id')
        .all(),
    ).toEqual([
      { id: 'inv_changed', committed_cents: 5, visible: 1, blockers: '[]', extra: '{"a":1}' },
      { id: 'inv_same', committed_cents: 100_000, visible: 1, blockers: '[]', extra: null },
    ]);
    expect(mirror.raw.prepare('SELECT count(*) FROM investments').pluck().get()).toBe(3);
  });

  test('incoming never carries a column that could hold a name', () => {
    const mirror = freshMirror();
    const columns = (view: string) =>
      mirror.raw.prepare(`SELECT name FROM pragma_table_info(?)`).pluck().all(view);
    const investments = columns('investments');
    expect(columns('incoming')).toEqual(
      investments.filter((name) => name !== 'valid_from' && name !== 'change_seq'),
    );
  });
});

describe('totals', () => {
  test('keep currencies apart and count rows without an amount', () => {
    const mirror = freshMirror();
    seedSource(mirror, 1);
    seedInvestment(mirror, 1, 'inv_a', { in_escrow_cents: 7 });
    seedInvestment(mirror, 1, 'inv_b', { raised_cents: null, in_escrow_cents: null });
    seedInvestment(mirror, 1, 'inv_c', { currency: 'eur', raised_cents: 3, committed_cents: 4 });
    expect(mirror.raw.prepare('SELECT * FROM round_totals ORDER BY currency').all()).toEqual([
      {
        ...{ source: 'source1', company_id: 'co_1', offering_id: 'ofr_1', status: 'active', currency: 'eur' },
        ...{ investments: 1, committed_cents: 4, in_escrow_cents: 0, raised_cents: 3 },
      },
      {
        ...{ source: 'source1', company_id: 'co_1', offering_id: 'ofr_1', status: 'active', currency: 'usd' },
        ...{ investments: 2, committed_cents: 200_000, in_escrow_cents: 7, raised_cents: 100_000 },
      },
    ]);
  });

  test('days are UTC days of applied_at, investors are counted within their source', () => {
    const mirror = freshMirror();
    seedSource(mirror, 1);
    seedSource(mirror, 2);
    seedInvestment(mirror, 1, 'inv_a', { applied_at: '2026-10-10T23:59:59.999Z' });
    seedInvestment(mirror, 1, 'inv_b', { applied_at: '2026-10-11T00:00:00.000Z' });
    seedInvestment(mirror, 2, 'inv_a', { applied_at: '2026-10-12T00:00:00.000Z' });
    expect(
      mirror.raw.prepare('SELECT source, day, raised_cents FROM daily_raised ORDER BY source, day').all(),
    ).toEqual([
      { source: 'source1', day: '2026-10-10', raised_cents: 100_000 },
      { source: 'source1', day: '2026-10-11', raised_cents: 100_000 },
      { source: 'source2', day: '2026-10-12', raised_cents: 100_000 },
    ]);
    expect(
      mirror.raw
        .prepare(
          'SELECT source, investments, raised_cents, first_applied_at FROM investor_totals ORDER BY source',
        )
        .all(),
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

  test('sums beyond 2^53 stay exact', () => {
    const mirror = freshMirror();
    seedSource(mirror, 1);
    for (const id of ['a', 'b', 'c'])
      seedInvestment(mirror, 1, id, { raised_cents: Number.MAX_SAFE_INTEGER });
    const total = mirror.raw.prepare('SELECT raised_cents FROM round_totals').pluck().safeIntegers().get();
    expect(total).toBe(BigInt(Number.MAX_SAFE_INTEGER) * 3n);
  });
});

describe('sync_status', () => {
  const status = (set: Record<string, string | null>) => {
    const mirror = freshMirror();
    seedSource(mirror, 1, set);
    return mirror.raw
      .prepare<[], { meaning: string; readable: number; cursor_expires_at: string }>(
        'SELECT * FROM sync_status',
      )
      .get();
  };

  test('a failed attempt never reads as healthy', () => {
    expect(status({ last_outcome: 'done' })?.meaning).toBe('following the feed');
    expect(status({ last_outcome: 'failed' })?.meaning).toContain('behind');
    expect(status({ state: 'halted', halted_from: 'following' })?.meaning).toContain('a person has to help');
  });

  test('tells when the cursor will be too old, as a time', () => {
    expect(status({})?.cursor_expires_at).toBe('2027-01-18T11:59:00.000Z');
  });

  test('a source whose first listing is under way is not readable yet', () => {
    expect(status({ state: 'listing', listed_at: null })?.readable).toBe(0);
  });
});
