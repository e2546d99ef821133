import type { Identity, Investment } from '../../../domain/investment.js';
import type { Held } from '../../plan-page.js';
import type { IdentityColumns } from '../../schema.js';
import type { HeldColumns, Statements } from './statements.js';

export interface HeldRow extends Held {
  readonly rowNo: number;
}

export function heldRow(statements: Statements, columns: HeldColumns | undefined): HeldRow | undefined {
  if (columns === undefined) return undefined;
  const rowNo = columns.row_no;
  // The row is nobody else's, so it becomes the record in place: copying it costs more than reading it. The
  // parser made these values before they were stored, which is what the brands stand for.
  const investment = Object.assign<object, Flags>(columns, {
    needs_whitelisting: columns.needs_whitelisting === 1,
    visible: columns.visible === 1,
    investor_deactivated: columns.investor_deactivated === 1,
    via_entity: columns.via_entity === 1,
  }) as Investment;
  return { rowNo, investment, identity: identityFrom(statements.heldIdentity.get(rowNo)) };
}

type Flags = Pick<Investment, 'needs_whitelisting' | 'visible' | 'investor_deactivated' | 'via_entity'>;

function identityFrom(columns: IdentityColumns | undefined): Identity | null {
  return columns === undefined ? null : { ...columns, email_hidden: columns.email_hidden === 1 };
}
