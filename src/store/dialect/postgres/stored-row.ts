import type { StoredVersion } from '../../plan-page.js';
import { identityColumns, ofPerson, recordColumns } from '../../record-columns.js';
import { type PersonBeside, personIn, recordIn, type StoredRecord } from '../../stored-record.js';
import { statement, type Transaction } from './transaction.js';

export interface StoredRow extends StoredVersion {
  readonly rowNo: number;
}

const storedRows = statement(
  'held_rows',
  `SELECT r.row_no, r.id, ${recordColumns.map((column) => `r.${column}`).join(', ')}, i.row_no AS person,
          ${identityColumns.map((column) => `i.${column} AS ${ofPerson(column)}`).join(', ')}
   FROM investment_rows r LEFT JOIN identity_rows i ON i.row_no = r.row_no
   WHERE r.source_no = $1 AND r.id = ANY($2::text[])`,
);

/** Returns the stored records of these ids, by id. */
export async function readStored(
  transaction: Transaction,
  sourceNo: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredRow>> {
  if (ids.length === 0) return new Map();
  const rows = await transaction.rows<Columns & PersonBeside>(storedRows, sourceNo, ids);
  return new Map(rows.map((row) => [row.id, storedRow(row)]));
}

interface Columns extends StoredRecord {
  readonly row_no: number;
}

function storedRow(row: Columns & PersonBeside): StoredRow {
  return { rowNo: row.row_no, identity: personIn(row), investment: recordIn(row) };
}
