import { contentFields, identityFields } from '../../../domain/investment.js';
import type { RecordItem } from '../../plan-page.js';
import { type ColumnValue, stored } from '../../record-columns.js';

const columns = [
  ...contentFields.map((name) => `r.${name}`),
  'p.row_no IS NOT NULL',
  ...identityFields.map((name) => `p.${name}`),
];

/** Selects, by source and id, the row number and then the columns that `sameAsStored` compares, in its order. */
export const storedForComparison = `
  SELECT r.row_no, ${columns.join(', ')}
  FROM investment_rows r LEFT JOIN identity_rows p ON p.row_no = r.row_no
  WHERE r.source_no = ? AND r.id = ?`;

export type ComparedRow = readonly [rowNo: number, ...ColumnValue[]];

/**
 * Returns whether `differenceOf` would find no difference. Compares the columns as they were read: a re-listing calls
 * this for every record, nearly all are equal, and building objects only to compare them would be much slower.
 */
export function sameAsStored(row: ComparedRow, { investment, identity }: RecordItem): boolean {
  if (!contentFields.every((field, at) => row[1 + at] === stored(investment[field]))) return false;
  const person = 1 + contentFields.length;
  if ((row[person] === 1) !== (identity !== null)) return false;
  return (
    identity === null || identityFields.every((field, at) => row[person + 1 + at] === stored(identity[field]))
  );
}
