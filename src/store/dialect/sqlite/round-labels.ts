import { setImmediate } from 'node:timers/promises';
import type { RoundLabels, Row } from '../../../dimensions/ports.js';
import type { SourceName } from '../../../domain/ids.js';
import { labelsFrom } from '../../dimensions.js';
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

const labels = ['investment_type', 'offering_type', 'first_applied_at'] as const;

/** Reads what the rows of a round say of it: each value is the least among them. All rows of a large round take several turns. */
export async function roundLabels(
  { raw, file }: SqliteDatabase,
  source: SourceName,
  round: string,
  rows = rowsPerTurn,
): Promise<RoundLabels> {
  const no = withSqliteFaults(file, () => raw.prepare<[string], number>(listedSql).pluck().get(source));
  let least: Row = {};
  if (no === undefined) return labelsFrom([least]);
  const slice = raw.prepare<unknown[], Row>(sliceSql);
  for (let after = 0; ; ) {
    const read = withSqliteFaults(file, () => slice.get({ source: no, round, after, rows })) ?? {};
    least = Object.fromEntries(labels.map((label) => [label, lesser(least[label], read[label])]));
    if (Number(read.read) < rows) return labelsFrom([least]);
    after = Number(read.last);
    await setImmediate();
  }
}

function lesser(a: Row[string] | undefined, b: Row[string] | undefined): string | null {
  const known = [a, b].filter((value) => typeof value === 'string');
  return known.sort()[0] ?? null;
}
