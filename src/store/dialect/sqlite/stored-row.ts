import type { StoredVersion } from '../../plan-page.js';
import { identityIn, recordIn } from '../../stored-record.js';
import type { Statements, StoredColumns } from './statements.js';

export interface StoredRow extends StoredVersion {
  readonly rowNo: number;
}

export function storedRowFrom(
  statements: Statements,
  columns: StoredColumns | undefined,
): StoredRow | undefined {
  if (columns === undefined) return undefined;
  const rowNo = columns.row_no;
  const person = statements.heldIdentity.get(rowNo);
  return {
    rowNo,
    investment: recordIn(columns),
    identity: person === undefined ? null : identityIn(person),
  };
}
