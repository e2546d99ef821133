import { readFileSync } from 'node:fs';
import { schemaPath } from '../../../runtime/package-root.js';
import type { RawDatabase } from './prepared.js';

/*
 * Triggers maintain the totals of rounds, days and investors in the commit that changes a row. Another program that
 * writes to the file can make them wrong, so `doctor` and every re-listing compare the totals with the rows.
 */

/**
 * Adds the upper and the lower 32 bits separately: SQLite's `sum()` fails when an intermediate result exceeds 64 bits, even
 * if the total does not. Neither half can, and the total then becomes a floating-point number instead of an error.
 */
const halves = (cents: string) =>
  `coalesce(sum(${cents} >> 32) * 4294967296 + sum(${cents} & 4294967295), 0)`;

const tables = [
  {
    kept: 'round_rows',
    keys: { offering_id: 'offering_id', status: 'status', currency: 'currency', company_id: 'company_id' },
    cents: ['committed_cents', 'in_escrow_cents', 'raised_cents'],
    counted: 'true',
  },
  {
    kept: 'day_rows',
    // The key with the most distinct values comes first, which makes sorting faster.
    keys: { day: 'substr(applied_at, 1, 10)', currency: 'currency', company_id: 'company_id' },
    cents: ['committed_cents', 'raised_cents'],
    counted: 'true',
  },
  {
    kept: 'investor_rows',
    keys: { investor_id: 'investor_id', currency: 'currency' },
    cents: ['committed_cents', 'raised_cents'],
    counted: 'investor_id IS NOT NULL',
  },
] as const;

/**
 * Returns SQL that selects the names of the tables whose totals differ from the rows of these sources: the number of
 * totals differs, or a computed total is missing. Does not materialize the totals, however many investors there are.
 */
function differingTotals(sources: string, reading = 'NOT INDEXED'): string {
  return tables
    .map(({ kept, keys, cents, counted }) => {
      const names = ['source_no', ...Object.keys(keys), 'investments', ...cents];
      const of = Object.values(keys).join(', ');
      const added = `SELECT source_no, ${Object.entries(keys).map(([name, sql]) => `${sql} AS ${name}`)},
          count(*) AS investments, ${cents.map((name) => `${halves(name)} AS ${name}`)}
        FROM investment_rows ${reading} WHERE source_no IN (${sources}) AND ${counted} GROUP BY ${of}, source_no`;
      const same = names.map((name) => `k.${name} IS a.${name}`).join(' AND ');
      return `SELECT '${kept}' WHERE (
        SELECT count(*) <> (SELECT count(*) FROM ${kept} WHERE source_no IN (${sources}) AND investments <> 0)
          OR count(*) <> count(*) FILTER (WHERE EXISTS (SELECT 1 FROM ${kept} k WHERE ${same}))
        FROM (${added}) a)`;
    })
    .join('\nUNION ALL\n');
}

/** Skips sources with a sum beyond 64 bits: their stored totals are not used, and queries compute them from the rows. */
export const strayTotalsSql = differingTotals(
  'SELECT no FROM sources WHERE listed_at IS NOT NULL AND no NOT IN (SELECT source_no FROM beyond_sums)',
);

/** Each trigger with the migration that defines it. */
const countingTriggers = {
  totals_added: '0008_kept_totals.sql',
  investors_added: '0010_kept_investors.sql',
} as const;

/**
 * Drops the counting triggers for the very first listing of a mirror: rows do not count before it is published, and the
 * triggers would slow down every insert. `createCountingTriggers` creates them again.
 */
export function dropCountingTriggers(raw: RawDatabase): void {
  if (raw.prepare('SELECT 1 FROM sources WHERE listed_at IS NOT NULL').get() !== undefined) return;
  for (const name of Object.keys(countingTriggers)) raw.exec(`DROP TRIGGER IF EXISTS ${name}`);
}

/** Creates the missing counting triggers. Call it in the commit that publishes a source's first listing. */
export function createCountingTriggers(raw: RawDatabase): void {
  const present = raw.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?');
  for (const [name, file] of Object.entries(countingTriggers)) {
    if (present.get(name) !== undefined) continue;
    const shipped = readFileSync(schemaPath('sqlite', file), 'utf8');
    const [trigger] = new RegExp(`^CREATE TRIGGER ${name} .*?^END;$`, 'ms').exec(shipped) ?? [];
    if (trigger === undefined) throw new Error(`the trigger ${name} is not among the migrations`);
    raw.exec(trigger);
  }
}

/**
 * Returns whether the source's totals differ from its rows, or a sum is beyond 64 bits. Sorts all of its rows, but no
 * personal data.
 */
export function totalsDiffer(raw: RawDatabase, sourceNo: number): boolean {
  const isBeyond = raw.prepare('SELECT 1 FROM beyond_sums WHERE source_no = ?').get(sourceNo) !== undefined;
  const sql = differingTotals(String(sourceNo), readingOf(raw, sourceNo));
  return isBeyond || raw.prepare(sql).get() !== undefined;
}

/** A row found through an index costs about as much as so many rows of a table that is read from end to end. */
const rowsALookup = 8;

/**
 * Returns how to read all rows of a source: the whole table in its order, which is fastest where the source is most of it,
 * or, for a small source, through an index that begins with `source_no`, if it exists. Otherwise each source would read
 * the rows of all sources.
 */
export function readingOf(raw: RawDatabase, sourceNo: number): string {
  const share = raw
    .prepare<[], { own: number; all: number | null; indexed: number }>(
      `SELECT coalesce((SELECT max(s.rows_held, coalesce(l.rows, 0)) FROM sources s
                        LEFT JOIN listings l ON l.source_no = s.no WHERE s.no = ${sourceNo}), 0) AS own,
              (SELECT max(row_no) FROM investment_rows) AS "all",
              EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'investment_rows_applied') AS indexed`,
    )
    .get();
  const isSmall = share !== undefined && share.own * rowsALookup < (share.all ?? 0);
  return isSmall && share.indexed === 1 ? 'INDEXED BY investment_rows_applied' : 'NOT INDEXED';
}

/** Recomputes the totals of a source from its rows, in the caller's commit. */
export function recomputeTotals(raw: RawDatabase, sourceNo: number): void {
  // A daemon of an earlier version, still running, restores only the triggers it knows when it publishes.
  createCountingTriggers(raw);
  // The triggers mark the source again if a sum is still beyond 64 bits.
  raw.prepare('DELETE FROM beyond_sums WHERE source_no = ?').run(sourceNo);
  for (const { kept } of tables) raw.prepare(`DELETE FROM ${kept} WHERE source_no = ?`).run(sourceNo);
  // The trigger for a first listing computes the totals: make it run again.
  const listedAt = raw.prepare('SELECT listed_at FROM sources WHERE no = ?').pluck().get(sourceNo);
  const set = raw.prepare('UPDATE sources SET listed_at = ? WHERE no = ?');
  set.run(null, sourceNo);
  set.run(listedAt, sourceNo);
}

/** The totals of a first listing that its publication writes: rows of `round_rows` and of `day_rows`. */
export interface CountedTotals {
  readonly rounds: readonly (readonly unknown[])[];
  readonly days: readonly (readonly unknown[])[];
}

const [ofRounds, ofDays, ofInvestors] = tables;

const columnsOf = ({ keys, cents }: (typeof tables)[number]): readonly string[] => [
  'source_no',
  ...Object.keys(keys),
  'investments',
  ...cents,
];

const totalsOf = ({ keys, cents, counted }: (typeof tables)[number], reading: string) => {
  const of = Object.values(keys).join(', ');
  return `SELECT source_no, ${of}, count(*), ${cents.map(halves).join(', ')}
    FROM investment_rows ${reading} WHERE source_no = ? AND ${counted} GROUP BY ${of}`;
};

/** Bounds the write lock and the log of one commit, which takes some 20 ms in a mirror of a million records. */
export const investorsPerCommitMax = 5_000;

/**
 * Notes how far the totals of a first listing are computed ahead of its publication: `counting` until they are complete,
 * `used` in the commit that publishes them.
 */
export function noteCounting(
  raw: RawDatabase,
  sourceNo: number,
  state: 'counting' | 'counted' | 'used',
): number {
  return raw
    .prepare(
      `INSERT INTO counted_listings (source_no, state) VALUES (?, ?)
       ON CONFLICT (source_no) DO UPDATE SET state = excluded.state`,
    )
    .run(sourceNo, state).changes;
}

/** Returns whether an earlier attempt to compute the totals of a source may have left some. */
export function isCounting(raw: RawDatabase, sourceNo: number): boolean {
  return raw.prepare('SELECT 1 FROM counted_listings WHERE source_no = ?').get(sourceNo) !== undefined;
}

/** Investor totals in the order of the table. Those of other sources may be among them. */
interface Slice {
  readonly first: number;
  readonly last: number;
}

/**
 * Returns the next `rows` investor totals after `after` that an unfinished attempt left; null when there are no more. No index
 * leads to the totals of a source, so this reads those of all sources in between.
 */
export function findLeftover(raw: RawDatabase, sourceNo: number, after: number, rows: number): Slice | null {
  const found = raw
    .prepare<[number, number, number], Slice | { first: null; last: null }>(
      `SELECT min(rowid) AS first, max(rowid) AS last FROM (
         SELECT rowid FROM investor_rows NOT INDEXED WHERE rowid > ? AND source_no = ? ORDER BY rowid LIMIT ?)`,
    )
    .get(after, sourceNo, rows);
  return found === undefined || found.first === null ? null : found;
}

/** Deletes the investor totals of a source in this slice. Returns how many. */
export function deleteLeftover(raw: RawDatabase, sourceNo: number, { first, last }: Slice): number {
  return raw
    .prepare('DELETE FROM investor_rows NOT INDEXED WHERE rowid >= ? AND rowid <= ? AND source_no = ?')
    .run(first, last, sourceNo).changes;
}

/**
 * Computes the totals of a source. Returns those of rounds and days. Those of investors, which can be as many as the rows,
 * are left in `temp.counted`, sorted. Sorts ids, days and numbers in files.
 */
export function computeTotals(raw: RawDatabase, sourceNo: number): CountedTotals {
  raw.pragma('temp_store = FILE');
  const reading = readingOf(raw, sourceNo);
  const rows = (sql: string) =>
    raw.prepare(sql).safeIntegers().raw().all(sourceNo) as readonly (readonly unknown[])[];
  raw
    .prepare(`CREATE TEMP TABLE counted AS ${totalsOf(ofInvestors, reading).replace('?', String(sourceNo))}`)
    .run();
  return { rounds: rows(totalsOf(ofRounds, reading)), days: rows(totalsOf(ofDays, reading)) };
}

/** Writes at most `rows` of the investor totals, after the first `from`. Returns how many. */
export function writeInvestors(raw: RawDatabase, from: number, rows: number): number {
  return raw
    .prepare(
      `INSERT INTO investor_rows (${columnsOf(ofInvestors).join(', ')})
       SELECT * FROM temp.counted WHERE rowid > ? AND rowid <= ? ORDER BY rowid`,
    )
    .run(from, from + rows).changes;
}

/**
 * Computes the totals of a first listing in the commit that publishes it, if the source is a small part of the mirror, and
 * returns those that `putTotals` writes. Returns null for another one: the triggers compute its totals from the whole
 * table.
 */
export function totalsInCommit(raw: RawDatabase, sourceNo: number): CountedTotals | null {
  const reading = readingOf(raw, sourceNo);
  if (reading === 'NOT INDEXED') return null;
  if (isCounting(raw, sourceNo)) raw.prepare('DELETE FROM investor_rows WHERE source_no = ?').run(sourceNo);
  noteCounting(raw, sourceNo, 'counted');
  raw
    .prepare(
      `INSERT INTO investor_rows (${columnsOf(ofInvestors).join(', ')}) ${totalsOf(ofInvestors, reading)}`,
    )
    .run(sourceNo);
  const rows = (sql: string) =>
    raw.prepare(sql).safeIntegers().raw().all(sourceNo) as readonly (readonly unknown[])[];
  return { rounds: rows(totalsOf(ofRounds, reading)), days: rows(totalsOf(ofDays, reading)) };
}

/** Writes the totals of rounds and days, in the commit that publishes the listing. The triggers then compute none. */
export function putTotals(raw: RawDatabase, sourceNo: number, { rounds, days }: CountedTotals): void {
  const state = raw.prepare('SELECT state FROM counted_listings WHERE source_no = ?').pluck().get(sourceNo);
  if (state !== 'counted') throw new Error('the totals of this listing were not computed completely');
  for (const [table, rows] of [
    [ofRounds, rounds],
    [ofDays, days],
  ] as const) {
    const columns = columnsOf(table);
    const insert = raw.prepare(
      `INSERT INTO ${table.kept} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    );
    for (const row of rows) insert.run(...row);
  }
  noteCounting(raw, sourceNo, 'used');
}

/** Makes the totals computed ahead count for nothing: the rows they were computed from are replaced. */
export function outdateCounting(raw: RawDatabase, sourceNo: number): void {
  raw.prepare("UPDATE counted_listings SET state = 'counting' WHERE source_no = ?").run(sourceNo);
}

export function forgetCounting(raw: RawDatabase, sourceNo: number): void {
  raw.prepare('DELETE FROM counted_listings WHERE source_no = ?').run(sourceNo);
}
