import { comparedValues, differs } from '../../../domain/difference.js';
import { contentFields, identityFields } from '../../../domain/investment.js';
import type { RecordItem } from '../../page-facts.js';
import { type ColumnValue, stored } from '../../record-columns.js';

const compared = [
  ...contentFields.map((name) => `r.${name}`),
  'p.row_no IS NOT NULL',
  ...identityFields.map((name) => (name === 'email_hidden' ? 'coalesce(p.email_hidden, 0)' : `p.${name}`)),
];

/**
 * Selects, by source and id, the columns in the order of `comparedValues` and `observed_at` as one JSON text, the reason
 * and the row number. Each value that crosses from SQLite to JavaScript costs nearly a microsecond, so one text is much
 * faster than forty columns. See `prepareStatements` for the `+`.
 */
export const storedForComparison = `
  SELECT json_array(${compared.join(', ')}, r.observed_at), r.reason, r.row_no
  FROM investment_rows r LEFT JOIN identity_rows p ON p.row_no = r.row_no
  WHERE r.source_no = +? AND r.id = +?`;

/**
 * A stored row as it was read. A re-listing compares every record and nearly all are equal: building objects only to
 * compare them would be much slower.
 */
export interface ComparedRow {
  readonly rowNo: number;
  readonly reason: ColumnValue;
  readonly text: string;
}

export function comparedRow(row: readonly ColumnValue[] | undefined): ComparedRow | undefined {
  if (row === undefined) return undefined;
  const [text = '', reason = null, rowNo] = row;
  return { rowNo: Number(rowNo), reason, text: String(text) };
}

/** Returns whether `differenceOf` or `publicationDifference` would find a difference. */
export function differsFromRow({ text, reason }: ComparedRow, record: RecordItem): boolean {
  const { observed_at, reason: given } = record.investment;
  if (given !== null && reason !== null && reason !== given) return true;
  const values = [...comparedValues(record), observed_at].map(stored);
  if (text === JSON.stringify(values)) return false;
  // A character may be escaped in two ways.
  return differs(JSON.parse(text) as readonly ColumnValue[], values);
}
