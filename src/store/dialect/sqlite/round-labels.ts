import { setImmediate } from 'node:timers/promises';
import type { RoundLabels } from '../../../dimensions/ports.js';
import type { SourceName } from '../../../domain/ids.js';
import { withSqliteFaults } from './faults.js';
import type { SqliteDatabase } from './open.js';

/** Rows that one turn of the event loop reads: some 10 ms of a round whose rows lie far apart. */
const rowsPerTurn = 5_000;

const listedSql = 'SELECT no FROM sources WHERE name = ? AND listed_at IS NOT NULL';

/**
 * Ends at the last row that it read. Rows of one round are in the index in the order of their numbers, so nothing is sorted
 * and nothing before is read again. Rows of other sources count among those read.
 */
export const sliceSql = `SELECT count(*) AS read, max(row_no) AS last,
    min(investment_type) FILTER (WHERE source_no = :source) AS investment_type,
    min(offering_type) FILTER (WHERE source_no = :source) AS offering_type,
    min(applied_at) FILTER (WHERE source_no = :source) AS first_applied_at
  FROM (
    SELECT row_no, source_no, investment_type, offering_type, applied_at FROM investment_rows
    WHERE offering_id = :round AND row_no > :after ORDER BY row_no LIMIT :rows
  )`;

interface Slice {
  readonly read: number;
  readonly last: number | null;
  readonly investment_type: string | null;
  readonly offering_type: string | null;
  readonly first_applied_at: string | null;
}

/** Reads what the rows of a round say of it: each value is the least among them. All rows of a large round take several turns. */
export async function roundLabels(
  { raw, file }: SqliteDatabase,
  source: SourceName,
  round: string,
  rows = rowsPerTurn,
): Promise<RoundLabels> {
  const no = withSqliteFaults(file, () => raw.prepare<[string], number>(listedSql).pluck().get(source));
  let least: RoundLabels = { investmentType: null, offeringType: null, firstAppliedAt: null };
  if (no === undefined) return least;
  const slice = raw.prepare<unknown[], Slice>(sliceSql);
  for (let after = 0; ; ) {
    const read = withSqliteFaults(file, () => slice.get({ source: no, round, after, rows }));
    least = {
      investmentType: lesser(least.investmentType, read?.investment_type),
      offeringType: lesser(least.offeringType, read?.offering_type),
      firstAppliedAt: lesser(least.firstAppliedAt, read?.first_applied_at),
    };
    if (read === undefined || read.read < rows) return least;
    after = read.last ?? after;
    await setImmediate();
  }
}

function lesser(one: string | null, other: string | null | undefined): string | null {
  const known = [one, other].filter((value) => typeof value === 'string');
  return known.sort()[0] ?? null;
}
