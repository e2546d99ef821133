import type { Identity, Investment } from '../../../domain/investment.js';
import type { Held } from '../../plan-page.js';
import { identityColumns, recordColumns } from '../../record-columns.js';
import { ofPerson } from './recordset.js';
import { statement, type Transaction } from './transaction.js';

export interface HeldRow extends Held {
  readonly rowNo: number;
}

const heldRows = statement(
  'held_rows',
  `SELECT r.row_no, r.id, ${recordColumns.map((column) => `r.${column}`).join(', ')}, i.row_no AS person,
          ${identityColumns.map((column) => `i.${column} AS ${ofPerson(column)}`).join(', ')}
   FROM investment_rows r LEFT JOIN identity_rows i ON i.row_no = r.row_no
   WHERE r.source_no = $1 AND r.id = ANY($2::text[])`,
);

/** What is held of these ids, by id. */
export async function readHeld(
  transaction: Transaction,
  sourceNo: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, HeldRow>> {
  if (ids.length === 0) return new Map();
  const rows = await transaction.rows<Record<string, unknown>>(heldRows, sourceNo, ids);
  return new Map(rows.map((row) => [String(row.id), heldRow(row)]));
}

const flags = ['needs_whitelisting', 'visible', 'investor_deactivated', 'via_entity'] as const;

/** The parser made these values before they were stored, which is what the brands stand for. */
function heldRow(row: Record<string, unknown>): HeldRow {
  const rowNo = Number(row.row_no);
  const identity = row.person === null ? null : identityOf(row);
  for (const flag of flags) row[flag] = row[flag] === 1;
  // The row is nobody else's, so it becomes the record in place: copying it costs more than reading it.
  return { rowNo, investment: row as unknown as Investment, identity };
}

function identityOf(row: Record<string, unknown>): Identity {
  const identity = Object.fromEntries(identityColumns.map((column) => [column, row[ofPerson(column)]]));
  return { ...identity, email_hidden: identity.email_hidden === 1 } as unknown as Identity;
}
