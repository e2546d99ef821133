import { readFileSync } from 'node:fs';
import { schemaPath } from '../../../runtime/package-root.js';
import type { RawDatabase } from './prepared.js';

/*
 * Triggers maintain the totals of rounds, days and investors in the commit that changes a row. Another program that
 * writes to the file can make them wrong, so `doctor` and every re-listing compare the totals with the rows.
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
function differingTotals(sources: string): string {
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
  return isBeyond || raw.prepare(differingTotals(String(sourceNo))).get() !== undefined;
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
