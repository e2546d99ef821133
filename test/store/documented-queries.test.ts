import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CompiledQuery } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { buildIndexes } from '../../src/store/dialect/sqlite/indexes.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import { documentedQueries } from '../../src/store/documented-queries.js';
import { readMirror } from '../../src/store/reads/read-mirror.js';
import { databases, type Row, sqliteMirror, type WorkingMirror } from './support/databases.js';
import { freshMirror, recordDefaults, sourceRow } from './support/mirror.js';

const investment = (source_no: number, id: string, set: Row = {}): readonly [string, Row] => [
  'investment_rows',
  { source_no, id, ...recordDefaults, ...set },
];
const history = (id: string, set: Row): readonly [string, Row] => [
  'history_rows',
  {
    source_no: 1,
    id,
    ...recordDefaults,
    valid_from: '2026-10-01T00:00:00.000Z',
    change_seq: 1,
    ...set,
  },
];
const change = { source_no: 1, at: '2026-10-18T00:00:00.000Z' };

const rows: readonly (readonly [string, Row])[] = [
  ['sources', sourceRow(1, { name: 'acme', rows_held: 4, last_outcome: 'done' })],
  [
    'sources',
    sourceRow(2, {
      name: 'beta',
      rows_held: 1,
      last_outcome: 'failed',
      last_error: 'the platform is away',
    }),
  ],
  investment(1, 'inv_1', { row_no: 1, applied_at: '2026-09-30T10:00:00.000Z', in_escrow_cents: 40 }),
  ['identity_rows', { row_no: 1, name: 'Ada', email: 'ada@example.org' }],
  investment(1, 'inv_2', {
    row_no: 2,
    investor_id: 'usr_2',
    status: 'executed',
    applied_at: '2026-10-02T10:00:00.000Z',
    committed_cents: 20_000,
    raised_cents: 20_000,
  }),
  investment(1, 'inv_3', {
    row_no: 3,
    offering_id: 'ofr_2',
    applied_at: '2026-10-02T12:00:00.000Z',
    committed_cents: 600_000,
    raised_cents: 0,
    blockers: '[{"key":"needs_id"},{"key":"needs_money"}]',
    valid_from: '2026-10-18T00:00:00.000Z',
    change_seq: 3,
  }),
  investment(1, 'inv_4', {
    row_no: 4,
    currency: 'eur',
    applied_at: null,
    committed_cents: null,
    raised_cents: null,
    blockers: '[{"key":"needs_id"}]',
  }),
  investment(2, 'inv_1', { row_no: 5, investor_id: 'usr_9', applied_at: '2026-10-02T13:00:00.000Z' }),
  // Rows without a currency sort first in both databases.
  investment(2, 'inv_5', {
    row_no: 6,
    offering_id: 'ofr_2',
    currency: null,
    applied_at: '2026-10-02T09:00:00.000Z',
    committed_cents: 7,
    raised_cents: 0,
    in_escrow_cents: 3,
  }),
  investment(2, 'inv_6', {
    row_no: 7,
    offering_id: 'ofr_2',
    currency: null,
    applied_at: null,
    in_escrow_cents: 2,
    committed_cents: null,
    raised_cents: null,
    investor_id: null,
  }),
  history('inv_8', {
    currency: null,
    raised_cents: null,
    valid_to: '2026-10-07T00:00:00.000Z',
    ended_by: 'tombstone',
  }),
  history('inv_3', {
    offering_id: 'ofr_2',
    raised_cents: 11,
    valid_to: '2026-10-18T00:00:00.000Z',
    ended_by: 'update',
  }),
  history('inv_9', { valid_to: '2026-10-07T00:00:00.000Z', ended_by: 'tombstone' }),
  [
    'offering_rows',
    {
      source_no: 1,
      id: 'ofr_1',
      company_id: 'co_1',
      name: 'Reg CF SAFE 2025',
      valid_from: '2026-10-18T00:00:00.000Z',
      change_seq: 2,
    },
  ],
  ...(['active', 'executed', 'canceled'] as const).map((status): [string, Row] => [
    'round_stat_rows',
    {
      ...{
        source_no: 1,
        offering_id: 'ofr_1',
        status,
        currency: 'usd',
        asked_at: '2026-10-18T00:00:00.000Z',
      },
      investments: status === 'active' ? 2 : 1,
      committed_cents: 20_000,
      raised_cents: 20_000,
    },
  ]),
  ['change_rows', { ...change, seq: 1, kind: 'snapshot' }],
  ['change_rows', { ...change, seq: 3, kind: 'changed', id: 'inv_3', fields: '["raised_cents"]' }],
  ['change_rows', { ...change, seq: 4, kind: 'removed', id: 'inv_9', at: '2026-10-07T00:00:00.000Z' }],
  ['change_rows', { ...change, seq: 5, kind: 'added', about: 'round', id: 'ofr_1' }],
];

async function seeded(): Promise<SqliteDatabase> {
  const mirror = freshMirror();
  await fill(sqliteMirror(mirror));
  await buildIndexes(mirror.raw);
  return mirror;
}

async function fill(mirror: WorkingMirror): Promise<void> {
  for (const [table, row] of rows) await mirror.insert(table, row);
}

const expected: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  freshness: [
    ['acme', 'following the feed', '2026-10-20T11:59:00.000Z', 4, null],
    ['beta', 'behind: the last attempt failed', '2026-10-20T11:59:00.000Z', 1, 'the platform is away'],
  ],
  'by-status': [
    ['active', 'usd', 3, 200_000],
    ['executed', 'usd', 1, 20_000],
    ['active', null, 2, 0],
    ['active', 'eur', 1, 0],
  ],
  'by-round': [
    ['acme', 'Reg CF SAFE 2025', 'ofr_1', 'usd', 2, 120_000, 40],
    ['beta', null, 'ofr_1', 'usd', 1, 100_000, 0],
    ['acme', 'Reg CF SAFE 2025', 'ofr_1', 'eur', 1, 0, 0],
    ['acme', null, 'ofr_2', 'usd', 1, 0, 0],
    ['beta', null, 'ofr_2', null, 2, 0, 5],
  ],
  'round-differences': [
    ['acme', 'Reg CF SAFE 2025', 'ofr_1', 'active', 2, 1, 20_000, 100_000, '2026-10-18T00:00:00.000Z'],
    ['acme', 'Reg CF SAFE 2025', 'ofr_1', 'canceled', 1, null, 20_000, null, '2026-10-18T00:00:00.000Z'],
  ],
  'raised-per-day': [
    ['2026-09-30', 'usd', 100_000, 100_000],
    ['2026-10-02', null, 0, 0],
    ['2026-10-02', 'usd', 120_000, 220_000],
  ],
  'raised-per-month': [
    ['2026-09', 'usd', 1, 100_000],
    ['2026-10', null, 1, 0],
    ['2026-10', 'usd', 3, 120_000],
  ],
  'top-investors': [
    ['usr_1', 'usd', 2, 100_000],
    ['usr_9', 'usd', 1, 100_000],
    ['usr_2', 'usd', 1, 20_000],
    ['usr_1', null, 1, 0],
    ['usr_1', 'eur', 1, 0],
  ],
  concentration: [
    ['acme', 'eur', 0, 0, null],
    ['acme', 'usd', 120_000, 120_000, 10_000],
    ['beta', null, 0, 0, null],
    ['beta', 'usd', 100_000, 100_000, 10_000],
  ],
  'repeat-investors': [
    ['acme', 'eur', 1, 0],
    ['acme', 'usd', 2, 1],
    ['beta', null, 1, 0],
    ['beta', 'usd', 1, 0],
  ],
  'ticket-sizes': [
    [null, '1: under 500', 1, 7],
    ['usd', '1: under 500', 1, 20_000],
    ['usd', '3: 1,000 to 4,999', 2, 200_000],
    ['usd', '4: 5,000 and more', 1, 600_000],
  ],
  'waiting-longest': [['acme', null, 'inv_3', '2026-10-02T12:00:00.000Z', 'needs_id, needs_money']],
  'escrow-ageing': [
    ['acme', 'usd', 2, 1, 40],
    ['beta', null, null, 1, 2],
    ['beta', null, 2, 1, 3],
  ],
  'lost-per-week': [
    ['2026-10-05', null, 1, null],
    ['2026-10-05', 'usd', 1, 100_000],
  ],
  'latest-changes': [
    [5, '2026-10-18T00:00:00.000Z', 'acme', 'round_added', '[]', 'ofr_1', 'Reg CF SAFE 2025'],
    [4, '2026-10-07T00:00:00.000Z', 'acme', 'removed', '[]', 'inv_9', 'Reg CF SAFE 2025'],
    [3, '2026-10-18T00:00:00.000Z', 'acme', 'changed', '["raised_cents"]', 'inv_3', null],
    [1, '2026-10-18T00:00:00.000Z', 'acme', 'snapshot', '[]', null, null],
  ],
  'as-of': [
    ['acme', 'Reg CF SAFE 2025', 'ofr_1', 'eur', 1, 0],
    ['acme', 'Reg CF SAFE 2025', 'ofr_1', 'usd', 2, 120_000],
    ['acme', null, 'ofr_2', 'usd', 1, 11],
    ['beta', null, 'ofr_1', 'usd', 1, 100_000],
    ['beta', null, 'ofr_2', null, 2, 0],
  ],
  'roster-page': [
    ['2026-10-02T12:00:00.000Z', 'inv_3', null, null, null, 'active', 'usd', 600_000],
    ['2026-10-02T10:00:00.000Z', 'inv_2', 'Reg CF SAFE 2025', null, null, 'executed', 'usd', 20_000],
    [
      '2026-09-30T10:00:00.000Z',
      'inv_1',
      'Reg CF SAFE 2025',
      'Ada',
      'ada@example.org',
      'active',
      'usd',
      100_000,
    ],
    [null, 'inv_4', 'Reg CF SAFE 2025', null, null, 'active', 'eur', null],
  ],
};

/** Queries that may scan investment_rows, with the reason. All others must use an index. */
const mayScan: readonly string[] = [
  'as-of', // reads the time of every version
];

/** Plans on a fresh connection, as analysts use: the one that built the indexes has not loaded their statistics. */
function plan({ file }: SqliteDatabase, sql: string): string[] {
  const reader = openSqlite(file, { readonly: true });
  onTestFinished(() => reader.close());
  return reader.raw
    .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => detail);
}

describe('documented queries', () => {
  test('there are sixteen documented queries with distinct names', () => {
    expect(new Set(documentedQueries.map(({ name }) => name)).size).toBe(16);
    expect(Object.keys(expected).sort()).toEqual(documentedQueries.map(({ name }) => name).sort());
  });

  describe.each(databases)('in $database', ({ database, open }) => {
    test('each documented query returns the documented result on a read-only connection', async () => {
      const mirror = await open();
      await fill(mirror);
      const found: Record<string, unknown> = {};
      await readMirror(mirror.place, async (db) => {
        for (const { name, sql, postgres } of documentedQueries) {
          const text = database === 'SQLite' ? sql : (postgres ?? sql);
          const { rows: answer } = await db.executeQuery<Row>(CompiledQuery.raw(text));
          found[name] = answer.map((row) => Object.values(row));
        }
      });
      expect(found).toEqual(expected);
    });

    test('escrow-ageing counts the weeks of an investment of the year 0000', async () => {
      const mirror = await open();
      await fill(mirror);
      const applied_at = '0000-02-29T10:00:00.000Z';
      const [table, row] = investment(2, 'inv_old', { row_no: 8, applied_at, in_escrow_cents: 5 });
      await mirror.insert(table, row);
      const { sql, postgres = sql } =
        documentedQueries.find(({ name }) => name === 'escrow-ageing') ?? expect.fail();
      const weeks = Math.trunc(
        (Date.parse('2026-10-20T11:59:00.000Z') - Date.parse(applied_at)) / 604_800_000,
      );
      await readMirror(mirror.place, async (db) => {
        const text = database === 'SQLite' ? sql : postgres;
        const { rows: answer } = await db.executeQuery<Row>(CompiledQuery.raw(text));
        expect(answer.map((one) => Object.values(one))).toContainEqual(['beta', 'usd', weeks, 1, 5]);
      });
    });
  });

  test.each([
    ...['2026-01-01T00:00:00.000Z', '2026-10-01T00:00:00.000Z', '2026-10-06T00:00:00.000Z'],
    ...['2026-10-07T00:00:00.000Z', '2026-10-17T23:59:59.999Z', '2026-10-18T00:00:00.000Z'],
    '2027-01-01T00:00:00.000Z',
  ])('as of %s, undoing changes from the current totals equals summing every version', async (moment) => {
    const { raw } = await seeded();
    const query = documentedQueries.find(({ name }) => name === 'as-of');
    const [back, added] = [query?.sql, query?.postgres].map((sql = '') =>
      raw.prepare(sql.replaceAll('2026-10-15T00:00:00.000Z', moment)).all(),
    );
    expect(back).toEqual(added);
  });

  test.each(documentedQueries)(
    'the query $name reads identity only if it is declared to',
    ({ sql, identity }) => {
      expect(/\b(roster|identities)\b/.test(sql)).toBe(identity);
    },
  );

  /** What came with SQLite 3.39 to 3.46. */
  const newer =
    /\b(?:distinct from|(?:right|full|full outer) join|(?:concat|concat_ws|string_agg|octet_length|unhex|timediff|json_pretty|json_error_position) ?\(|jsonb)/gi;

  test('queries and views use nothing that SQLite 3.38 does not know', () => {
    const folder = join(packageRoot, 'schema/sqlite');
    const texts = [
      ...documentedQueries.map(({ name, sql }) => ({ name, text: sql })),
      ...readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') })),
    ];
    expect(texts.length).toBeGreaterThan(30);
    const used = texts.flatMap(({ name, text }) =>
      [...text.matchAll(newer)].map(([word]) => `${name}: ${word}`),
    );
    expect(used).toEqual([]);
  });

  describe('query plans', () => {
    test.each(documentedQueries.filter(({ name }) => !mayScan.includes(name)))(
      'the query $name does not scan all investments',
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
      [
        'newest of all',
        'SELECT * FROM roster ORDER BY applied_at DESC NULLS LAST LIMIT 50',
        /investment_rows_newest/,
      ],
      [
        'of an investor',
        "SELECT * FROM investments WHERE investor_id = 'usr_1'",
        /investment_rows_investor \(investor_id=\?/,
      ],
      [
        'who waits',
        "SELECT id FROM investments WHERE source = 'acme' AND status = 'active' AND blockers <> '[]' ORDER BY applied_at, id LIMIT 20",
        /INDEX investment_rows_waiting \(source_no=\?\)$/,
      ],
      [
        'investments in escrow',
        "SELECT currency, sum(in_escrow_cents) FROM investments WHERE source = 'acme' AND in_escrow_cents > 0 GROUP BY currency",
        /COVERING INDEX investment_rows_escrow \(source_no=\?\)$/,
      ],
      [
        'of an offering',
        "SELECT * FROM investments WHERE offering_id = 'ofr_1'",
        /investment_rows_offering \(offering_id=\?\)/,
      ],
      [
        'totals of a source',
        "SELECT * FROM round_totals WHERE source = 'acme'",
        /round_rows_key \(source_no=\?\)/,
      ],
      [
        'days of a source',
        "SELECT * FROM daily_raised WHERE source = 'acme'",
        /day_rows_key \(source_no=\?\)/,
      ],
      [
        'totals of an investor',
        "SELECT * FROM investor_totals WHERE investor_id = 'usr_1'",
        /investor_rows_key \(investor_id=\?\)/,
      ],
      [
        'first investment of an investor',
        "SELECT first_applied_at FROM investor_totals WHERE investor_id = 'usr_1'",
        /COVERING INDEX investment_rows_investor \(investor_id=\? AND currency=\? AND source_no=\?\)/,
      ],
      [
        'history of an id',
        "SELECT * FROM investment_history WHERE id = 'inv_1'",
        /history_rows_record \(id=\?/,
      ],
      [
        'withdrawn investments',
        "SELECT valid_to, currency, raised_cents FROM investment_history WHERE ended_by = 'tombstone'",
        /COVERING INDEX history_rows_gone$/m,
      ],
      ['changes of an id', "SELECT * FROM changes WHERE id = 'inv_1'", /change_rows_record \(id=\?/],
      [
        'changes from a number on',
        'SELECT * FROM changes WHERE seq > 5 ORDER BY seq LIMIT 10',
        /SEARCH c USING INTEGER PRIMARY KEY/,
      ],
    ])('the query for %s uses its index', async (_, sql, index) => {
      const steps = plan(await seeded(), sql);
      expect(steps.join('\n')).toMatch(index);
      expect(steps.filter((step) => /^SCAN [rhc]$/.test(step))).toEqual([]);
    });

    test.each([
      'SELECT * FROM round_totals',
      'SELECT * FROM daily_raised',
      'SELECT * FROM investor_totals',
      documentedQueries.find(({ name }) => name === 'waiting-longest')?.sql ?? '',
      'SELECT * FROM roster ORDER BY applied_at DESC NULLS LAST LIMIT 50',
      "SELECT * FROM roster WHERE source = 'acme' ORDER BY applied_at DESC LIMIT 50",
    ])('the query needs no sort: %s', async (sql) => {
      expect(plan(await seeded(), sql).join('\n')).not.toMatch(/TEMP B-TREE/);
    });
  });
});
