import { centsSum } from '../../domain/money.js';
import { iso } from '../http/timestamps.js';
import { writtenSum } from '../http/written-sum.js';
import type { State } from '../state/database.js';
import { all } from '../state/statements.js';
import { wholeDollars } from '../syndicates/present.js';
import type { Member } from './model.js';

interface Row {
  readonly id: string;
  readonly offering_no: number;
  readonly offering: string;
  readonly company_name: string;
  readonly committed_cents: number;
  readonly raised_cents: number;
  readonly applied_at: number;
}

const sql = `SELECT i.id, v.offering_no, o.id AS offering, c.name AS company_name, v.committed_cents, v.raised_cents,
  i.applied_at FROM syndicate_investments v JOIN investments i ON i.no = v.investment_no
  JOIN offerings o ON o.no = v.offering_no JOIN companies c ON c.no = o.company_no
  WHERE v.investor_no = ? AND v.syndicate_no = ? ORDER BY i.applied_at DESC, i.no DESC`;

/** Returns the member's investments in the deals of this syndicate. Money that counts as raised is confirmed. */
export function investmentsOf(state: State, member: Member) {
  const rows = member.user_id === null ? [] : all<Row>(state, sql, [member.user_no, member.syndicate_no]);
  const total = centsSum(...rows.map((row) => row.committed_cents));
  return {
    data: rows.map((row) => ({
      id: row.id,
      type: 'member_investment',
      attributes: {
        fundraise_id: row.offering_no,
        offering: row.offering,
        company_name: row.company_name,
        amount: wholeDollars(row.committed_cents),
        amount_cents: row.committed_cents,
        status: row.raised_cents > 0 ? 'confirmed' : 'pending',
        created_at: iso(row.applied_at),
      },
    })),
    meta: { count: rows.length, total_amount: wholeDollars(total), total_amount_cents: writtenSum(total) },
  };
}
