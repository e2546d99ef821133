import { comparedValues, differs } from '../../../domain/difference.js';
import { contentFields, identityFields } from '../../../domain/investment.js';
import type { RecordItem } from '../../page-facts.js';
import type { ColumnValue } from '../../record-columns.js';

const compared = [
  ...contentFields.map((name) => `r.${name}`),
  'p.row_no IS NOT NULL',
  ...identityFields.map((name) => (name === 'email_hidden' ? 'coalesce(p.email_hidden, 0)' : `p.${name}`)),
];
const observedAt = compared.length;
const reason = observedAt + 1;

/** Selects, by source and id, the columns in the order of `comparedValues`, `observed_at`, `reason` and the row number. */
export const storedForComparison = `
  SELECT ${compared.join(', ')}, r.observed_at, r.reason, r.row_no
  FROM investment_rows r LEFT JOIN identity_rows p ON p.row_no = r.row_no
  WHERE r.source_no = ? AND r.id = ?`;

/**
 * A stored row as it was read. A re-listing compares every record and nearly all are equal: building objects only to
 * compare them would be much slower.
 */
export interface ComparedRow {
  readonly rowNo: number;
  readonly columns: readonly ColumnValue[];
}

export function comparedRow(row: readonly ColumnValue[] | undefined): ComparedRow | undefined {
  return row === undefined ? undefined : { rowNo: Number(row.at(-1)), columns: row };
}

/** Returns whether `differenceOf` or `publicationDifference` would find a difference. */
export function differsFromRow({ columns }: ComparedRow, record: RecordItem): boolean {
  const { observed_at, reason: given } = record.investment;
  const stored = columns[reason];
  return (
    columns[observedAt] !== observed_at ||
    (given !== null && stored !== null && stored !== given) ||
    differs(columns, comparedValues(record))
  );
}
