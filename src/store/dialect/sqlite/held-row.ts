import type { Identity, Investment } from '../../../domain/investment.js';
import type { Held } from '../../plan-page.js';
import type { IdentityColumns } from '../../schema.js';
import type { HeldColumns, Statements } from './statements.js';

export interface HeldRow extends Held {
  readonly rowNo: number;
}

export function heldRow(statements: Statements, columns: HeldColumns | undefined): HeldRow | undefined {
  if (columns === undefined) return undefined;
  const { row_no: rowNo, ...rest } = columns;
  // The parser made these values before they were stored, which is what the brands stand for.
  const investment = {
    ...rest,
    needs_whitelisting: rest.needs_whitelisting === 1,
    visible: rest.visible === 1,
    investor_deactivated: rest.investor_deactivated === 1,
    via_entity: rest.via_entity === 1,
  } as Investment;
  return { rowNo, investment, identity: identityFrom(statements.heldIdentity.get(rowNo)) };
}

function identityFrom(columns: IdentityColumns | undefined): Identity | null {
  return columns === undefined ? null : { ...columns, email_hidden: columns.email_hidden === 1 };
}
