import { readFileSync } from 'node:fs';
import { schemaPath } from '../../../runtime/package-root.js';
import type { RawDatabase } from './prepared.js';

/*
 * Triggers keep what rounds, days and investors add up to, in the commit that changes a row. What only triggers keep,
 * somebody who writes to the file by another way can spoil: it is held against the rows by `doctor`, and whenever a
 * source was listed anew.
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
    // What differs most stands first: sorting by it takes half the time.
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
 * Names each table that does not hold what the rows of these sources add up to: as many rows as there are sums, and
 * every sum among them. Nothing is put aside for it, however many investors there are.
 */
function strayTotals(sources: string): string {
  return tables
    .map(({ kept, keys, cents, counted }) => {
      const names = ['source_no', ...Object.keys(keys), 'investments', ...cents];
      const of = Object.values(keys).join(', ');
      const added = `SELECT source_no, ${Object.entries(keys).map(([name, sql]) => `${sql} AS ${name}`)},
          count(*) AS investments, ${cents.map((name) => `${halves(name)} AS ${name}`)}
        FROM investment_rows NOT INDEXED WHERE source_no IN (${sources}) AND ${counted} GROUP BY ${of}, source_no`;
      const same = names.map((name) => `k.${name} IS a.${name}`).join(' AND ');
      return `SELECT '${kept}' WHERE (
        SELECT count(*) <> (SELECT count(*) FROM ${kept} WHERE source_no IN (${sources}) AND investments <> 0)
          OR count(*) <> count(*) FILTER (WHERE EXISTS (SELECT 1 FROM ${kept} k WHERE ${same}))
        FROM (${added}) a)`;
    })
    .join('\nUNION ALL\n');
}

/** Of a source with a sum beyond 64 bits nothing is kept that counts: its totals are added up whenever they are asked for. */
export const strayTotalsSql = strayTotals(
  'SELECT no FROM sources WHERE listed_at IS NOT NULL AND no NOT IN (SELECT source_no FROM beyond_sums)',
);

/** By the migration that ships each. */
const countingTriggers = {
  totals_added: '0008_kept_totals.sql',
  investors_added: '0010_kept_investors.sql',
} as const;

/**
 * While nothing is listed no row counts, and yet a trigger that finds nothing to do costs an insert an eighth of
 * its time: they are taken away for the first listing a mirror ever sees. `countAdded` puts them back.
 */
export function leaveUncounted(raw: RawDatabase): void {
  if (raw.prepare('SELECT 1 FROM sources WHERE listed_at IS NOT NULL').get() !== undefined) return;
  for (const name of Object.keys(countingTriggers)) raw.exec(`DROP TRIGGER IF EXISTS ${name}`);
}

/** To be called in the commit that shows rows of a source for the first time. */
export function countAdded(raw: RawDatabase): void {
  const present = raw.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?');
  for (const [name, file] of Object.entries(countingTriggers)) {
    if (present.get(name) !== undefined) continue;
    const shipped = readFileSync(schemaPath('sqlite', file), 'utf8');
    const [trigger] = new RegExp(`^CREATE TRIGGER ${name} .*?^END;$`, 'ms').exec(shipped) ?? [];
    if (trigger === undefined) throw new Error(`the trigger ${name} is not among the migrations`);
    raw.exec(trigger);
  }
}

/** Whether the totals of a source are not what its rows add up to. Sorts all of them, by numbers and days. */
export function areStray(raw: RawDatabase, sourceNo: number): boolean {
  const isBeyond = raw.prepare('SELECT 1 FROM beyond_sums WHERE source_no = ?').get(sourceNo) !== undefined;
  return isBeyond || raw.prepare(strayTotals(String(sourceNo))).get() !== undefined;
}

/** Adds up the rows of a source anew, in the caller's commit. */
export function mendTotals(raw: RawDatabase, sourceNo: number): void {
  // A daemon of an earlier version that was still open and published puts back those it knows.
  countAdded(raw);
  // Whether a sum is still beyond 64 bits is seen when it is kept again.
  raw.prepare('DELETE FROM beyond_sums WHERE source_no = ?').run(sourceNo);
  for (const { kept } of tables) raw.prepare(`DELETE FROM ${kept} WHERE source_no = ?`).run(sourceNo);
  // The trigger of a first listing adds up; there is no second way to do it.
  const listedAt = raw.prepare('SELECT listed_at FROM sources WHERE no = ?').pluck().get(sourceNo);
  const set = raw.prepare('UPDATE sources SET listed_at = ? WHERE no = ?');
  set.run(null, sourceNo);
  set.run(listedAt, sourceNo);
}
