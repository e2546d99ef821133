import { contentFields, identityFields } from '../../../domain/investment.js';
import type { RecordItem } from '../../plan-page.js';
import { type ColumnValue, stored } from '../../record-columns.js';

const columns = [
  ...contentFields.map((name) => `r.${name}`),
  'p.row_no IS NOT NULL',
  ...identityFields.map((name) => `p.${name}`),
];

/** By source and id: the number of the row, then what `sameAsHeld` looks at, in its order. */
export const heldWhole = `
  SELECT r.row_no, ${columns.join(', ')}
  FROM investment_rows r LEFT JOIN identity_rows p ON p.row_no = r.row_no
  WHERE r.source_no = ? AND r.id = ?`;

export type HeldWhole = readonly [rowNo: number, ...ColumnValue[]];

/**
 * Whether `differenceOf` would find nothing, asked of the columns as they were read. A re-listing asks it of every
 * record and the answer is nearly always yes: making objects of the row to compare them took a third of its time.
 */
export function sameAsHeld(row: HeldWhole, { investment, identity }: RecordItem): boolean {
  if (!contentFields.every((field, at) => row[1 + at] === stored(investment[field]))) return false;
  const person = 1 + contentFields.length;
  if ((row[person] === 1) !== (identity !== null)) return false;
  return (
    identity === null || identityFields.every((field, at) => row[person + 1 + at] === stored(identity[field]))
  );
}
