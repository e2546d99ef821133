import { readFileSync } from 'node:fs';
import { schemaPath } from '../../../runtime/package-root.js';
import type { RawDatabase } from './prepared.js';

/*
 * Triggers keep what rounds and days add up to, in the commit that changes a row. What only triggers keep, somebody
 * who writes to the file by another way can spoil: it is held against the rows by `doctor`, and whenever a source was
 * listed anew.
 */

const halves = (cents: string) =>
  `coalesce(sum(${cents} >> 32) * 4294967296 + sum(${cents} & 4294967295), 0)`;

const tables = [
  {
    kept: 'round_rows',
    keys: { offering_id: 'offering_id', status: 'status', currency: 'currency', company_id: 'company_id' },
    cents: ['committed_cents', 'in_escrow_cents', 'raised_cents'],
  },
  {
    kept: 'day_rows',
    // What differs most stands first: sorting by it takes half the time.
    keys: { day: 'substr(applied_at, 1, 10)', currency: 'currency', company_id: 'company_id' },
    cents: ['committed_cents', 'raised_cents'],
  },
] as const;

/**
 * Names each table that does not hold what the rows of these sources add up to. These are added up once for both
 * directions: publishing 50,000 records of which none changed takes 160 ms instead of 290.
 */
function strayTotals(sources: string): string {
  const parts = tables.map(({ kept, keys, cents }) => {
    const columns = ['source_no', ...Object.keys(keys), 'investments', ...cents].join(', ');
    const of = Object.values(keys).join(', ');
    const stored = `SELECT ${columns} FROM ${kept} WHERE source_no IN (${sources}) AND investments <> 0`;
    const added = `SELECT * FROM added_${kept}`;
    return {
      added: `added_${kept} AS MATERIALIZED (SELECT source_no, ${of}, count(*), ${cents.map(halves).join(', ')}
        FROM investment_rows NOT INDEXED WHERE source_no IN (${sources}) GROUP BY ${of}, source_no)`,
      // Of equal rows EXCEPT sees one; whoever adds them up counts each.
      stray: `SELECT '${kept}' WHERE EXISTS (${stored} EXCEPT ${added}) OR EXISTS (${added} EXCEPT ${stored})
        OR (SELECT count(*) FROM (${stored})) <> (SELECT count(*) FROM added_${kept})`,
    };
  });
  const stray = parts.map((part) => part.stray).join('\nUNION ALL\n');
  return `WITH ${parts.map((part) => part.added).join(', ')}\n${stray}`;
}

export const strayTotalsSql = strayTotals('SELECT no FROM sources WHERE listed_at IS NOT NULL');

/**
 * While nothing is listed no row counts, and yet a trigger that finds nothing to do costs an insert an eighth of
 * its time: it is taken away for the first listing a mirror ever sees. `countAdded` puts it back.
 */
export function leaveUncounted(raw: RawDatabase): void {
  if (raw.prepare('SELECT 1 FROM sources WHERE listed_at IS NOT NULL').get() === undefined)
    raw.exec('DROP TRIGGER IF EXISTS totals_added');
}

/** To be called in the commit that shows rows of a source for the first time. */
export function countAdded(raw: RawDatabase): void {
  if (raw.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'totals_added'").get() !== undefined) return;
  const shipped = readFileSync(schemaPath('sqlite', '0008_kept_totals.sql'), 'utf8');
  const [trigger] = /^CREATE TRIGGER totals_added .*?^END;$/ms.exec(shipped) ?? [];
  if (trigger === undefined)
    throw new Error('the trigger that counts added rows is not among the migrations');
  raw.exec(trigger);
}

/** Whether the totals of a source are not what its rows add up to. Sorts all of them, by numbers and days. */
export function areStray(raw: RawDatabase, sourceNo: number): boolean {
  return raw.prepare(strayTotals(String(sourceNo))).get() !== undefined;
}

/** Adds up the rows of a source anew, in the caller's commit. */
export function mendTotals(raw: RawDatabase, sourceNo: number): void {
  for (const { kept } of tables) raw.prepare(`DELETE FROM ${kept} WHERE source_no = ?`).run(sourceNo);
  // The trigger of a first listing adds up; there is no second way to do it.
  const listedAt = raw.prepare('SELECT listed_at FROM sources WHERE no = ?').pluck().get(sourceNo);
  const set = raw.prepare('UPDATE sources SET listed_at = ? WHERE no = ?');
  set.run(null, sourceNo);
  set.run(listedAt, sourceNo);
}
