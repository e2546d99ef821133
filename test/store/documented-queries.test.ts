import { describe, expect, onTestFinished, test } from 'vitest';
import { buildIndexes } from '../../src/store/dialect/sqlite/indexes.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import { documentedQueries } from '../../src/store/documented-queries.js';
import { prepareReading } from '../../src/store/reads/reading-statement.js';
import {
  freshMirror,
  seedHistory,
  seedIdentity,
  seedInvestment,
  seedRow,
  seedSource,
} from './support/mirror.js';

async function seeded(): Promise<SqliteDatabase> {
  const mirror = freshMirror();
  seedSource(mirror, 1, { name: 'acme', rows_held: 4, last_outcome: 'done' });
  seedSource(mirror, 2, {
    name: 'beta',
    rows_held: 1,
    last_outcome: 'failed',
    last_error: 'the platform is away',
  });
  const first = seedInvestment(mirror, 1, 'inv_1', {
    applied_at: '2026-09-30T10:00:00.000Z',
    in_escrow_cents: 40,
  });
  seedIdentity(mirror, first, { name: 'Ada', email: 'ada@example.org' });
  seedInvestment(mirror, 1, 'inv_2', {
    ...{ investor_id: 'usr_2', status: 'executed', applied_at: '2026-10-02T10:00:00.000Z' },
    ...{ committed_cents: 20_000, raised_cents: 20_000 },
  });
  seedInvestment(mirror, 1, 'inv_3', {
    ...{
      offering_id: 'ofr_2',
      applied_at: '2026-10-02T12:00:00.000Z',
      committed_cents: 600_000,
      raised_cents: 0,
    },
    ...{ blockers: '[{"key":"needs_id"},{"key":"needs_money"}]' },
    ...{ valid_from: '2026-10-18T00:00:00.000Z', change_seq: 3 },
  });
  seedInvestment(mirror, 1, 'inv_4', {
    currency: 'eur',
    applied_at: null,
    committed_cents: null,
    raised_cents: null,
  });
  seedInvestment(mirror, 2, 'inv_1', { investor_id: 'usr_9', applied_at: '2026-10-02T13:00:00.000Z' });
  const before = { valid_from: '2026-10-01T00:00:00.000Z', change_seq: 1 };
  seedHistory(mirror, 1, 'inv_3', {
    ...{ ...before, offering_id: 'ofr_2', raised_cents: 11, valid_to: '2026-10-18T00:00:00.000Z' },
    ended_by: 'update',
  });
  seedHistory(mirror, 1, 'inv_9', {
    ...{ ...before, valid_to: '2026-10-07T00:00:00.000Z', ended_by: 'tombstone' },
  });
  const change = { source_no: 1, at: '2026-10-18T00:00:00.000Z' };
  seedRow(mirror, 'change_rows', { ...change, seq: 1, kind: 'snapshot' });
  seedRow(mirror, 'change_rows', {
    ...change,
    seq: 3,
    kind: 'changed',
    id: 'inv_3',
    fields: '["raised_cents"]',
  });
  await buildIndexes(mirror.raw);
  return mirror;
}

const expected: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  freshness: [
    ['acme', 'following the feed', '2026-10-20T11:59:00.000Z', 4n, null],
    ['beta', 'behind: the last attempt failed', '2026-10-20T11:59:00.000Z', 1n, 'the platform is away'],
  ],
  'by-status': [
    ['active', 'usd', 3n, 200_000n],
    ['executed', 'usd', 1n, 20_000n],
    ['active', 'eur', 1n, 0n],
  ],
  'by-round': [
    ['acme', 'ofr_1', 'usd', 2n, 120_000n, 40n],
    ['beta', 'ofr_1', 'usd', 1n, 100_000n, 0n],
    ['acme', 'ofr_1', 'eur', 1n, 0n, 0n],
    ['acme', 'ofr_2', 'usd', 1n, 0n, 0n],
  ],
  'raised-per-day': [
    ['2026-09-30', 'usd', 100_000n, 100_000n],
    ['2026-10-02', 'usd', 120_000n, 220_000n],
  ],
  'raised-per-month': [
    [null, 'eur', 1n, 0n],
    ['2026-09', 'usd', 1n, 100_000n],
    ['2026-10', 'usd', 3n, 120_000n],
  ],
  'top-investors': [
    ['usr_1', 'usd', 2n, 100_000n],
    ['usr_9', 'usd', 1n, 100_000n],
    ['usr_2', 'usd', 1n, 20_000n],
    ['usr_1', 'eur', 1n, 0n],
  ],
  concentration: [
    ['acme', 'eur', 0n, 0n, null],
    ['acme', 'usd', 120_000n, 120_000n, 10_000n],
    ['beta', 'usd', 100_000n, 100_000n, 10_000n],
  ],
  'repeat-investors': [
    ['acme', 'eur', 1n, 0n],
    ['acme', 'usd', 2n, 1n],
    ['beta', 'usd', 1n, 0n],
  ],
  'ticket-sizes': [
    ['usd', '1: under 500', 1n, 20_000n],
    ['usd', '3: 1,000 to 4,999', 2n, 200_000n],
    ['usd', '4: 5,000 and more', 1n, 600_000n],
  ],
  'waiting-longest': [['acme', 'inv_3', '2026-10-02T12:00:00.000Z', '["needs_id","needs_money"]']],
  'escrow-ageing': [['acme', 'usd', 2n, 1n, 40n]],
  'lost-per-week': [['2026-40', 'usd', 1n, 100_000n]],
  'latest-changes': [
    [3n, '2026-10-18T00:00:00.000Z', 'acme', 'inv_3', 'changed', '["raised_cents"]'],
    [1n, '2026-10-18T00:00:00.000Z', 'acme', null, 'snapshot', '[]'],
  ],
  'as-of': [
    ['acme', 'ofr_1', 'eur', 1n, null],
    ['acme', 'ofr_1', 'usd', 2n, 120_000n],
    ['acme', 'ofr_2', 'usd', 1n, 11n],
    ['beta', 'ofr_1', 'usd', 1n, 100_000n],
  ],
  'roster-page': [
    ['2026-10-02T12:00:00.000Z', 'inv_3', null, null, 'active', 'usd', 600_000n],
    ['2026-10-02T10:00:00.000Z', 'inv_2', null, null, 'executed', 'usd', 20_000n],
    ['2026-09-30T10:00:00.000Z', 'inv_1', 'Ada', 'ada@example.org', 'active', 'usd', 100_000n],
    [null, 'inv_4', null, null, 'active', 'eur', null],
  ],
};

/** What may read investment_rows from end to end, and why: everything else is answered from an index. */
const mayScan: readonly string[] = [
  'ticket-sizes', // sorts every commitment into a size
  'escrow-ageing', // looks at every amount in escrow
  'lost-per-week', // reads every superseded version
  'as-of', // looks at the time of every version
];

/** Asked on a fresh connection, as analysts do: the one that built the indexes has not read their sizes yet. */
function plan({ file }: SqliteDatabase, sql: string): string[] {
  const reader = openSqlite(file, { readonly: true });
  onTestFinished(() => reader.close());
  return reader.raw
    .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => detail);
}

describe('documented queries', () => {
  test('there are fifteen, each under a name of its own', () => {
    expect(new Set(documentedQueries.map(({ name }) => name)).size).toBe(15);
    expect(Object.keys(expected).sort()).toEqual(documentedQueries.map(({ name }) => name).sort());
  });

  test.each(documentedQueries)(
    '$name answers as documented, on a read-only connection',
    async ({ name, sql }) => {
      const { file } = await seeded();
      const reader = openSqlite(file, { readonly: true });
      onTestFinished(() => reader.close());
      expect(prepareReading(reader.raw, sql).all()).toEqual(expected[name]);
    },
  );

  test.each(documentedQueries)('$name names a person only if it says so', ({ sql, identity }) => {
    expect(/\b(roster|identities)\b/.test(sql)).toBe(identity);
  });

  describe('query plans', () => {
    test.each(documentedQueries.filter(({ name }) => !mayScan.includes(name)))(
      '$name does not read every investment',
      async ({ sql }) => {
        const scans = plan(await seeded(), sql).filter((step) => /^SCAN [rh]$/.test(step));
        expect(scans).toEqual([]);
      },
    );

    test.each([
      [
        'by status',
        'SELECT status, count(*), sum(raised_cents) FROM investments GROUP BY status',
        /COVERING INDEX investment_rows_status/,
      ],
      ['by id', "SELECT * FROM investments WHERE id = 'inv_1'", /investment_rows_id \(id=\?\)/],
      [
        'by id and source',
        "SELECT * FROM roster WHERE source = 'acme' AND id = 'inv_1'",
        /investment_rows_id/,
      ],
      [
        'newest of a source',
        "SELECT * FROM roster WHERE source = 'acme' ORDER BY applied_at DESC LIMIT 50",
        /investment_rows_applied \(source_no=\?\)/,
      ],
      ['newest of all', 'SELECT * FROM roster ORDER BY applied_at DESC LIMIT 50', /investment_rows_newest/],
      [
        'of an investor',
        "SELECT * FROM investments WHERE investor_id = 'usr_1'",
        /investment_rows_investor \(investor_id=\?/,
      ],
      ['of an offering', "SELECT * FROM investments WHERE offering_id = 'ofr_1'", /investment_rows_round/],
      [
        'totals of a source',
        "SELECT * FROM round_totals WHERE source = 'acme'",
        /COVERING INDEX investment_rows_round \(source_no=\?\)/,
      ],
      [
        'days of a source',
        "SELECT * FROM daily_raised WHERE source = 'acme'",
        /investment_rows_day \(source_no=\?\)/,
      ],
      [
        'totals of an investor',
        "SELECT * FROM investor_totals WHERE investor_id = 'usr_1'",
        /COVERING INDEX investment_rows_investor \(investor_id=\?/,
      ],
      [
        'history of an id',
        "SELECT * FROM investment_history WHERE id = 'inv_1'",
        /history_rows_record \(id=\?/,
      ],
      ['changes of an id', "SELECT * FROM changes WHERE id = 'inv_1'", /change_rows_record \(id=\?/],
      [
        'changes from a number on',
        'SELECT * FROM changes WHERE seq > 5 ORDER BY seq LIMIT 10',
        /SEARCH c USING INTEGER PRIMARY KEY/,
      ],
    ])('%s is answered from its index', async (_, sql, index) => {
      const steps = plan(await seeded(), sql);
      expect(steps.join('\n')).toMatch(index);
      expect(steps.filter((step) => /^SCAN [rhc]$/.test(step))).toEqual([]);
    });

    test.each([
      'SELECT * FROM round_totals',
      'SELECT * FROM daily_raised',
      'SELECT * FROM investor_totals',
      'SELECT * FROM roster ORDER BY applied_at DESC LIMIT 50',
      "SELECT * FROM roster WHERE source = 'acme' ORDER BY applied_at DESC LIMIT 50",
    ])('%s needs no sorting', async (sql) => {
      expect(plan(await seeded(), sql).join('\n')).not.toMatch(/TEMP B-TREE/);
    });
  });
});
